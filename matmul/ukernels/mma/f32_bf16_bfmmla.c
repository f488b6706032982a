/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with BFMMLA of AArch64. */
#include "pairs.h"

enum { values = 2 };
KDL_MMA_QUADS(float32x4_t, float, f32)
typedef bfloat16x8_t word_pairs;

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
static inline word_pairs join_words(int32x4_t words) {
  return vreinterpretq_bf16_s32(words);
}

KDL_MMA_PAIRS(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 24 registers of sums, 3 of rows, 4 of columns. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(6, 1, 2);
}
