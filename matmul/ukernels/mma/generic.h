/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sums for any CPU, of loop.h: vectors of 16 lanes, which the compiler divides among the registers
 * there are. */
#ifndef KDL_MATMUL_UKERNELS_MMA_GENERIC_H
#define KDL_MATMUL_UKERNELS_MMA_GENERIC_H

#include "loop.h"

#define KDL_MMA_GENERIC_SUMS(type)                                                                 \
  typedef type sums __attribute__((ext_vector_type(16)));                                          \
  typedef type unaligned_sums __attribute__((ext_vector_type(16), aligned(4)));                    \
  static inline sums load_sums(const type *acc) {                                                  \
    return *(const unaligned_sums *)acc;                                                           \
  }                                                                                                \
  static inline void store_sums(type *acc, sums sum) {                                             \
    *(unaligned_sums *)acc = sum;                                                                  \
  }

/* Words are one f32, and vectors of them. */
#define KDL_MMA_GENERIC_SINGLE                                                                     \
  KDL_MMA_GENERIC_SUMS(float)                                                                      \
  typedef sums vectors;                                                                            \
  typedef float words;                                                                             \
  static inline words splat(const float *lhs) {                                                    \
    return *lhs;                                                                                   \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    return sum + word * vector;                                                                    \
  }

/* Vectors of f16, without instructions for them: exponent and mantissa are moved to where f32 has
 * them and scaled by the difference of the biases, which also makes f16's subnormal numbers right;
 * infinity and NaN keep their exponent of ones. */
#define KDL_MMA_GENERIC_HALVES                                                                     \
  typedef uint32_t bits __attribute__((ext_vector_type(16)));                                      \
  typedef uint16_t halves __attribute__((ext_vector_type(16), aligned(2)));                        \
  static inline vectors load_vectors(const kdl_f16 *rhs) {                                         \
    bits half = __builtin_convertvector(*(const halves *)rhs, bits);                               \
    bits magnitude = (half & 0x7fff) << 13;                                                        \
    bits special = magnitude >= 0x0f800000 ? (bits)0x7f800000 : (bits)0;                           \
    sums value = __builtin_bit_cast(sums, magnitude) * 0x1p112f;                                   \
    return __builtin_bit_cast(sums,                                                                \
                              __builtin_bit_cast(bits, value) | special | (half & 0x8000) << 16);  \
  }

/* Words are two bf16, whose bits are the upper half of an f32. */
#define KDL_MMA_GENERIC_APART                                                                      \
  typedef uint32_t pairs __attribute__((ext_vector_type(16)));                                     \
  typedef uint32_t unaligned_pairs __attribute__((ext_vector_type(16), aligned(2)));               \
  typedef struct {                                                                                 \
    sums even, odd;                                                                                \
  } vectors;                                                                                       \
  typedef struct {                                                                                 \
    float even, odd;                                                                               \
  } words;                                                                                         \
  static inline vectors load_vectors(const kdl_bf16 *rhs) {                                        \
    pairs both = *(const unaligned_pairs *)rhs;                                                    \
    return (vectors){__builtin_bit_cast(sums, both << 16),                                         \
                     __builtin_bit_cast(sums, both & 0xffff0000)};                                 \
  }                                                                                                \
  static inline words splat(const kdl_bf16 *lhs) {                                                 \
    return (words){kdl_mma_bf16_value(lhs[0]), kdl_mma_bf16_value(lhs[1])};                        \
  }                                                                                                \
  static inline sums multiply(sums sum, words word, vectors vector) {                              \
    return sum + word.even * vector.even + word.odd * vector.odd;                                  \
  }

#endif
