/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with I8MM of AArch64, which multiplies unsigned by signed bytes. */
#include "pairs.h"

#include <arm_neon.h>

enum { values = 4 };
typedef int32x4_t quad;
typedef int8x16_t word_pairs; /* of rows, the bytes are unsigned */

static inline quad load_quad(const int32_t *acc) {
  return vld1q_s32(acc);
}
static inline void store_quad(int32_t *acc, quad sum) {
  vst1q_s32(acc, sum);
}
static inline quad low_halves(quad a, quad b) {
  return vcombine_s32(vget_low_s32(a), vget_low_s32(b));
}
static inline quad high_halves(quad a, quad b) {
  return vcombine_s32(vget_high_s32(a), vget_high_s32(b));
}
static inline word_pairs load_rows(const uint8_t *first, const uint8_t *second) {
  return vreinterpretq_s8_u8(vcombine_u8(vld1_u8(first), vld1_u8(second)));
}
static inline word_pairs load_words(const int8_t *rhs) {
  return vld1q_s8(rhs);
}
static inline word_pairs zip_low(word_pairs here, word_pairs behind) {
  return vreinterpretq_s8_s32(vzip1q_s32(vreinterpretq_s32_s8(here), vreinterpretq_s32_s8(behind)));
}
static inline word_pairs zip_high(word_pairs here, word_pairs behind) {
  return vreinterpretq_s8_s32(vzip2q_s32(vreinterpretq_s32_s8(here), vreinterpretq_s32_s8(behind)));
}
static inline quad multiply(quad sum, word_pairs rows, word_pairs columns) {
  return vusmmlaq_s32(sum, vreinterpretq_u8_s8(rows), columns);
}

KDL_MMA_PAIRS(in_pairs, uint8_t, int8_t, int32_t)

/* What is left of K, word by word. */
static inline void word_by_word(KDL_MMA_PARAMETERS(uint8_t, int8_t, int32_t)) {
  const uint8_t *lhs = lhs_base + lhs_offset;
  const int8_t *rhs = rhs_base + rhs_offset;
  int32_t *acc = acc_base + acc_offset;
  for (int32_t outer = 0; outer < k_outer; ++outer)
    for (int32_t k = 0; k < intrinsics_k; ++k)
      for (int32_t m = 0; m < intrinsics_m; ++m) {
        int32_t word = (outer * intrinsics_m + m) * intrinsics_k + k;
        uint8x16_t row = vreinterpretq_u8_s32(vdupq_n_s32(kdl_mma_word_s32(lhs + word * values)));
        for (int32_t n = 0; n < intrinsics_n * 4; ++n) {
          int32_t at = (outer * intrinsics_k + k) * intrinsics_n + n / 4;
          int32_t *sum = acc + (m * intrinsics_n * 4 + n) * 4;
          word_pairs columns = load_words(rhs + (at * kdl_mma_columns + n % 4 * 4) * values);
          store_quad(sum, vusdotq_s32(load_quad(sum), row, columns));
        }
      }
}

void kdl_uk_mma_s32_u8s8(KDL_MMA_PARAMETERS(uint8_t, int8_t, int32_t)) {
  if (intrinsics_k % 2)
    word_by_word(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,
                 intrinsics_m, intrinsics_n, intrinsics_k);
  else
    in_pairs(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,
             intrinsics_m, intrinsics_n, intrinsics_k);
}

/* 24 registers of sums, 3 of rows, 4 of columns. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(6, 1, 0);
}
