/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What microkernels for SVE share, for vectors of at least 256 or 512 `bits`: parts of what loop.h
 * and pairs.h want to be defined.
 *
 * There are no arrays of SVE's own types, whose size is not known. So values are vectors of `bits`,
 * which are the lower part of a register: Clang converts them to SVE's types and back, for which
 * -msve-vector-bits=256+ must say that registers are not shorter. They may be longer. Loads and
 * stores are of the lower part alone, and what else a register has is never used: no instruction
 * may move it there. TRN does not, as it exchanges neighbours; ZIP does, whose result depends on
 * the length of the register.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_SVE_H
#define KDL_MATMUL_UKERNELS_MMA_SVE_H

#define KDL_MMA_UNROLLED _Pragma("clang loop unroll(full)")
#include "loop.h"

#include <arm_sve.h>

/* Vectors of `bits` of an element, and where they lie in memory. */
#define KDL_MMA_SVE_VECTOR(bits, element, name)                                                    \
  typedef element name __attribute__((ext_vector_type((bits) / 8 / sizeof(element))));             \
  typedef element unaligned_##name                                                                 \
      __attribute__((ext_vector_type((bits) / 8 / sizeof(element)), aligned(1)))

#define KDL_MMA_SVE_SUMS(bits, element)                                                            \
  enum { parts = 512 / (bits) };                                                                   \
  KDL_MMA_SVE_VECTOR(bits, element, sums);                                                         \
  static inline sums load_sums(const element *acc) {                                               \
    return *(const unaligned_sums *)acc;                                                           \
  }                                                                                                \
  static inline void store_sums(element *acc, sums sum) {                                          \
    *(unaligned_sums *)acc = sum;                                                                  \
  }

/* A word in every lane, by one load. Without the assembly, LLVM does what follows with one lane and
 * spreads the result, with an instruction that takes the place of a multiplication. */
static inline svuint32_t kdl_mma_sve_word(const void *word) {
  svuint32_t lanes = svdup_u32((uint32_t)kdl_mma_word_s32(word));
  __asm__("" : "+w"(lanes));
  return lanes;
}

/* Words are one f32, and vectors of them. */
#define KDL_MMA_SVE_SINGLE(bits)                                                                   \
  KDL_MMA_SVE_SUMS(bits, float)                                                                    \
  enum { lhs_values = 1, rhs_values = 1 };                                                         \
  typedef sums vectors, words;                                                                     \
  static inline words splat(const float *lhs) {                                                    \
    return svreinterpret_f32_u32(kdl_mma_sve_word(lhs));                                           \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    return __builtin_elementwise_fma(word, vector, sum);                                           \
  }

#define KDL_MMA_SVE_F32(bits)                                                                      \
  KDL_MMA_SVE_SINGLE(bits)                                                                         \
  static inline vectors load_vectors(const float *rhs) {                                           \
    return *(const unaligned_sums *)rhs;                                                           \
  }                                                                                                \
  KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* Each f16 is loaded into the lower half of a lane and converted there. */
#define KDL_MMA_SVE_F16(bits)                                                                      \
  KDL_MMA_SVE_SINGLE(bits)                                                                         \
  KDL_MMA_SVE_VECTOR((bits) / 2, _Float16, halves);                                                \
  static inline vectors load_vectors(const kdl_f16 *rhs) {                                         \
    return __builtin_convertvector(*(const unaligned_halves *)rhs, sums);                          \
  }                                                                                                \
  KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

/* Words are two bf16, without instructions for them: each word is taken apart into its two values,
 * whose bits are the upper half of an f32. */
#define KDL_MMA_SVE_APART(bits)                                                                    \
  KDL_MMA_SVE_SUMS(bits, float)                                                                    \
  KDL_MMA_SVE_VECTOR(bits, uint32_t, both);                                                        \
  enum { lhs_values = 2, rhs_values = 2 };                                                         \
  typedef struct {                                                                                 \
    sums even, odd;                                                                                \
  } vectors, words;                                                                                \
  static inline words apart(svuint32_t pairs) {                                                    \
    sums even = svreinterpret_f32_u32(svlsl_n_u32_x(svptrue_b32(), pairs, 16));                    \
    sums odd = svreinterpret_f32_u32(svand_n_u32_x(svptrue_b32(), pairs, 0xffff0000));             \
    return (words){even, odd};                                                                     \
  }                                                                                                \
  static inline vectors load_vectors(const kdl_bf16 *rhs) {                                        \
    return apart(*(const unaligned_both *)rhs);                                                    \
  }                                                                                                \
  static inline words splat(const kdl_bf16 *lhs) {                                                 \
    return apart(kdl_mma_sve_word(lhs));                                                           \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    sum = __builtin_elementwise_fma(word.even, vector.even, sum);                                  \
    return __builtin_elementwise_fma(word.odd, vector.odd, sum);                                   \
  }                                                                                                \
  KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

#endif
