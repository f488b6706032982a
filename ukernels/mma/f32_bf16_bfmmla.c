/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with BFMMLA of AArch64. */
#include "pairs.h"

#include <arm_neon.h>

enum { values = 2 };
typedef float32x4_t quad;
typedef bfloat16x8_t word_pairs;

static inline quad load_quad(const float *acc) {
  return vld1q_f32(acc);
}
static inline void store_quad(float *acc, quad sum) {
  vst1q_f32(acc, sum);
}
static inline quad low_halves(quad a, quad b) {
  return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
}
static inline quad high_halves(quad a, quad b) {
  return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
}
static inline word_pairs load_rows(const kdl_bf16 *first, const kdl_bf16 *second) {
  return vreinterpretq_bf16_u16(vcombine_u16(vld1_u16(first), vld1_u16(second)));
}
static inline word_pairs load_words(const kdl_bf16 *rhs) {
  return vreinterpretq_bf16_u16(vld1q_u16(rhs));
}
static inline word_pairs zip_low(word_pairs here, word_pairs behind) {
  return vreinterpretq_bf16_u32(
      vzip1q_u32(vreinterpretq_u32_bf16(here), vreinterpretq_u32_bf16(behind)));
}
static inline word_pairs zip_high(word_pairs here, word_pairs behind) {
  return vreinterpretq_bf16_u32(
      vzip2q_u32(vreinterpretq_u32_bf16(here), vreinterpretq_u32_bf16(behind)));
}
static inline quad multiply(quad sum, word_pairs rows, word_pairs columns) {
  return vbfmmlaq_f32(sum, rows, columns);
}

KDL_MMA_PAIRS(in_pairs, kdl_bf16, kdl_bf16, float)

/* What is left of K, word by word: BFDOT multiplies like BFMMLA, one row and column at a time. */
static inline void word_by_word(KDL_MMA_PARAMETERS(kdl_bf16, kdl_bf16, float)) {
  const kdl_bf16 *lhs = lhs_base + lhs_offset;
  const kdl_bf16 *rhs = rhs_base + rhs_offset;
  float *acc = acc_base + acc_offset;
  for (int32_t outer = 0; outer < k_outer; ++outer)
    for (int32_t k = 0; k < intrinsics_k; ++k)
      for (int32_t m = 0; m < intrinsics_m; ++m) {
        int32_t word = (outer * intrinsics_m + m) * intrinsics_k + k;
        bfloat16x8_t row =
            vreinterpretq_bf16_s32(vdupq_n_s32(kdl_mma_word_s32(lhs + word * values)));
        for (int32_t n = 0; n < intrinsics_n * 4; ++n) {
          int32_t at = (outer * intrinsics_k + k) * intrinsics_n + n / 4;
          float *sum = acc + (m * intrinsics_n * 4 + n) * 4;
          word_pairs columns = load_words(rhs + (at * kdl_mma_columns + n % 4 * 4) * values);
          store_quad(sum, vbfdotq_f32(load_quad(sum), row, columns));
        }
      }
}

void kdl_uk_mma_f32_bf16(KDL_MMA_PARAMETERS(kdl_bf16, kdl_bf16, float)) {
  if (intrinsics_k % 2)
    word_by_word(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,
                 intrinsics_m, intrinsics_n, intrinsics_k);
  else
    in_pairs(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,
             intrinsics_m, intrinsics_n, intrinsics_k);
}

/* 24 registers of sums, 3 of rows, 4 of columns. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(6, 1, 0);
}
