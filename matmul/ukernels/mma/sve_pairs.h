/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* BFMMLA and USMMLA of SVE, for vectors of at least 256 or 512 `bits`: what pairs.h wants to be
 * defined. In 256 bits there are two times two rows and two columns, of which the rows are the
 * same. */
#ifndef KDL_MATMUL_UKERNELS_MMA_SVE_PAIRS_H
#define KDL_MATMUL_UKERNELS_MMA_SVE_PAIRS_H

#include "pairs.h"
#include "sve.h"

#include <arm_neon_sve_bridge.h>

static inline uint64_t kdl_mma_sve_two_words(const void *words) {
  uint64_t value;
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

/* Sums of pairs.h. The two columns of 128 bits of sums are those that TRN brings together, 0 and 2
 * or 1 and 3. All columns of a step are loaded before the rows, of which there are more. */
#define KDL_MMA_SVE_QUADS(bits, element)                                                           \
  enum { parts = 512 / (bits), held = 2 };                                                         \
  KDL_MMA_SVE_VECTOR(bits, element, quad);                                                         \
  KDL_MMA_SVE_VECTOR(bits, uint32_t, singles);                                                     \
  KDL_MMA_SVE_VECTOR(bits, uint64_t, doubles);                                                     \
  static inline singles even_singles(singles a, singles b) {                                       \
    return svtrn1_u32(a, b);                                                                       \
  }                                                                                                \
  static inline singles odd_singles(singles a, singles b) {                                        \
    return svtrn2_u32(a, b);                                                                       \
  }                                                                                                \
  static inline doubles even_doubles(doubles a, doubles b) {                                       \
    return svtrn1_u64(a, b);                                                                       \
  }                                                                                                \
  static inline doubles odd_doubles(doubles a, doubles b) {                                        \
    return svtrn2_u64(a, b);                                                                       \
  }                                                                                                \
  static inline quad load_quad(const element *acc) {                                               \
    return *(const unaligned_quad *)acc;                                                           \
  }                                                                                                \
  static inline void store_quad(element *acc, quad sum) {                                          \
    *(unaligned_quad *)acc = sum;                                                                  \
  }                                                                                                \
  static inline quad first_sums(quad even, quad odd) {                                             \
    doubles low = even_doubles((doubles)even, (doubles)odd);                                       \
    doubles high = odd_doubles((doubles)even, (doubles)odd);                                       \
    return (quad)even_singles((singles)low, (singles)high);                                        \
  }                                                                                                \
  static inline quad second_sums(quad even, quad odd) {                                            \
    doubles low = even_doubles((doubles)even, (doubles)odd);                                       \
    doubles high = odd_doubles((doubles)even, (doubles)odd);                                       \
    return (quad)odd_singles((singles)low, (singles)high);                                         \
  }                                                                                                \
  static inline quad even_row(quad first, quad second) {                                           \
    singles low = even_singles((singles)first, (singles)second);                                   \
    singles high = odd_singles((singles)first, (singles)second);                                   \
    return (quad)even_doubles((doubles)low, (doubles)high);                                        \
  }                                                                                                \
  static inline quad odd_row(quad first, quad second) {                                            \
    singles low = even_singles((singles)first, (singles)second);                                   \
    singles high = odd_singles((singles)first, (singles)second);                                   \
    return (quad)odd_doubles((doubles)low, (doubles)high);                                         \
  }

/* Words of pairs.h: two of each of two rows in every 128 bits, or of two columns. */
#define KDL_MMA_SVE_WORDS(lhs_type, rhs_type)                                                      \
  typedef singles word_pairs;                                                                      \
  static inline word_pairs load_rows(const lhs_type *first, const lhs_type *second) {              \
    return (word_pairs)even_doubles((doubles)kdl_mma_sve_two_words(first),                         \
                                    (doubles)kdl_mma_sve_two_words(second));                       \
  }                                                                                                \
  static inline word_pairs load_words(const rhs_type *rhs) {                                       \
    return *(const unaligned_singles *)rhs;                                                        \
  }                                                                                                \
  static inline word_pairs zip_low(word_pairs here, word_pairs behind) {                           \
    return even_singles(here, behind);                                                             \
  }                                                                                                \
  static inline word_pairs zip_high(word_pairs here, word_pairs behind) {                          \
    return odd_singles(here, behind);                                                              \
  }                                                                                                \
  static inline word_pairs join_words(int32x4_t words) {                                           \
    return svreinterpret_u32_s32(svdup_neonq_s32(words));                                          \
  }

#define KDL_MMA_SVE_BF16(bits)                                                                     \
  enum { values = 2 };                                                                             \
  KDL_MMA_SVE_QUADS(bits, float)                                                                   \
  KDL_MMA_SVE_WORDS(kdl_bf16, kdl_bf16)                                                            \
  static inline quad multiply(quad sum, word_pairs rows, word_pairs columns) {                     \
    return svbfmmla_f32(sum, svreinterpret_bf16_u32(rows), svreinterpret_bf16_u32(columns));       \
  }                                                                                                \
  KDL_MMA_PAIRS(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

#define KDL_MMA_SVE_U8S8(bits)                                                                     \
  enum { values = 4 };                                                                             \
  KDL_MMA_SVE_QUADS(bits, int32_t)                                                                 \
  KDL_MMA_SVE_WORDS(uint8_t, int8_t)                                                               \
  static inline quad multiply(quad sum, word_pairs rows, word_pairs columns) {                     \
    return svusmmla_s32(sum, svreinterpret_u8_u32(rows), svreinterpret_s8_u32(columns));           \
  }                                                                                                \
  KDL_MMA_PAIRS(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

#endif
