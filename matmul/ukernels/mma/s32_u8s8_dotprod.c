/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with the dot products of AArch64, which take both sides signed or both unsigned. So words
 * are multiplied as a - 128, and 128 times the sum of each column is added at the end: that sum is
 * one more dot product for each register of a vector, whatever the number of rows. */
#include <kdl/mma.h>

#include <arm_neon.h>

enum { parts = 4, lanes = kdl_mma_columns / parts };

void kdl_uk_mma_s32_u8s8(KDL_MMA_PARAMETERS(uint8_t, int8_t, int32_t)) {
  const uint8_t *lhs = lhs_base + lhs_offset;
  const int8_t *rhs = rhs_base + rhs_offset;
  int32_t *acc = acc_base + acc_offset;
  const int32_t width = intrinsics_n * parts;
  int32x4_t sum[intrinsics_m][width], sixty_fourths[width];
  int8x16_t vector[width];
  for (int32_t n = 0; n < width; ++n)
    sixty_fourths[n] = vdupq_n_s32(0);
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < width; ++n)
      sum[m][n] = vld1q_s32(acc + (m * width + n) * lanes);
  for (int32_t outer = 0; outer < k_outer; ++outer) {
    _Pragma("clang loop unroll(disable)") for (int32_t k = 0; k < intrinsics_k; ++k) {
      for (int32_t n = 0; n < width; ++n) {
        int32_t at = (k * intrinsics_n + n / parts) * kdl_mma_columns + n % parts * lanes;
        vector[n] = vld1q_s8(rhs + at * 4);
        /* 128 is not a signed byte; 64 is, and the sum is doubled at the end. */
        sixty_fourths[n] = vdotq_s32(sixty_fourths[n], vdupq_n_s8(64), vector[n]);
      }
      for (int32_t m = 0; m < intrinsics_m; ++m) {
        int32_t bytes = kdl_mma_word_s32(lhs + (m * intrinsics_k + k) * 4);
        int8x16_t word = vreinterpretq_s8_s32(vdupq_n_s32(bytes ^ (int32_t)0x80808080));
        for (int32_t n = 0; n < width; ++n)
          sum[m][n] = vdotq_s32(sum[m][n], word, vector[n]);
      }
    }
    lhs += intrinsics_m * intrinsics_k * 4;
    rhs += intrinsics_n * intrinsics_k * kdl_mma_columns * 4;
  }
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < width; ++n)
      vst1q_s32(acc + (m * width + n) * lanes,
                vaddq_s32(sum[m][n], vshlq_n_s32(sixty_fourths[n], 1)));
}

/* 20 quarters of fragments, 4 of vectors, 4 of their sums, a word and the constant. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(5, 1, 1);
}
