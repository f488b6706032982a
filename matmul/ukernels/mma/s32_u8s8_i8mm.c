/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with I8MM of AArch64, which multiplies unsigned by signed bytes. */
#include "pairs.h"

enum { values = 4 };
KDL_MMA_QUADS(int32x4_t, int32_t, s32)
typedef int8x16_t word_pairs; /* of rows, the bytes are unsigned */

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
static inline word_pairs join_words(int32x4_t words) {
  return vreinterpretq_s8_s32(words);
}

KDL_MMA_PAIRS(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

/* 24 registers of sums, 3 of rows, 4 of columns. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(6, 1, 2);
}
