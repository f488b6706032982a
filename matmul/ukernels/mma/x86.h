/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What microkernels for f32, f16 and bf16 share on x86, with registers of 256 or 512 `bits`: parts
 * of what loop.h wants to be defined.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_X86_H
#define KDL_MATMUL_UKERNELS_MMA_X86_H

#include "loop.h"

#include <immintrin.h>

#define KDL_MMA_X86_SUMS(bits)                                                                     \
  typedef __m##bits sums;                                                                          \
  static inline sums load_sums(const float *acc) {                                                 \
    return _mm##bits##_loadu_ps(acc);                                                              \
  }                                                                                                \
  static inline void store_sums(float *acc, sums sum) {                                            \
    _mm##bits##_storeu_ps(acc, sum);                                                               \
  }

/* Words are one f32, and vectors of them. */
#define KDL_MMA_X86_SINGLE(bits)                                                                   \
  KDL_MMA_X86_SUMS(bits)                                                                           \
  typedef sums vectors, words;                                                                     \
  static inline words splat(const float *lhs) {                                                    \
    return _mm##bits##_set1_ps(*lhs);                                                              \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    return _mm##bits##_fmadd_ps(word, vector, sum);                                                \
  }

/* Words are two bf16, without instructions for them. The bits of a bf16 are the upper half of an
 * f32: each word is taken apart into its two values, and each is multiplied in f32. */
#define KDL_MMA_X86_APART(bits)                                                                    \
  KDL_MMA_X86_SUMS(bits)                                                                           \
  typedef struct {                                                                                 \
    sums even, odd;                                                                                \
  } vectors, words;                                                                                \
  static inline words apart(__m##bits##i pairs) {                                                  \
    __m##bits##i odd = _mm##bits##_set1_epi32((int32_t)0xffff0000);                                \
    return (words){(sums)_mm##bits##_slli_epi32(pairs, 16),                                        \
                   (sums)_mm##bits##_and_si##bits(pairs, odd)};                                    \
  }                                                                                                \
  static inline vectors load_vectors(const kdl_bf16 *rhs) {                                        \
    return apart(_mm##bits##_loadu_si##bits((const __m##bits##i_u *)rhs));                         \
  }                                                                                                \
  static inline words splat(const kdl_bf16 *lhs) {                                                 \
    return apart(_mm##bits##_set1_epi32(kdl_mma_word_s32(lhs)));                                   \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    return _mm##bits##_fmadd_ps(word.odd, vector.odd,                                              \
                                _mm##bits##_fmadd_ps(word.even, vector.even, sum));                \
  }

#endif
