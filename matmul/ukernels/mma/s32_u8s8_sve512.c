/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with the dot products of SVE, of at least 512 bits, where no instruction multiplies
 * unsigned by signed bytes. As in s32_u8s8_dotprod.c, words are multiplied as a - 128, and 128
 * times the sum of each column is added at the end. */
#include "sve.h"

KDL_MMA_SVE_SUMS(512, int32_t)
KDL_MMA_SVE_VECTOR(512, int8_t, bytes);

static inline sums dot_product(sums sum, bytes a, bytes b) {
  return svdot_s32(sum, a, b);
}
static inline bytes flipped_word(const uint8_t *lhs) {
  return svreinterpret_s8_u32(sveor_n_u32_x(svptrue_b32(), kdl_mma_sve_word(lhs), 0x80808080));
}

void kdl_uk_mma_s32_u8s8(KDL_MMA_PARAMETERS(uint8_t, int8_t, int32_t)) {
  const uint8_t *lhs = lhs_base + lhs_offset;
  const int8_t *rhs = rhs_base + rhs_offset;
  int32_t *acc = acc_base + acc_offset;
  sums sum[intrinsics_m][intrinsics_n], sixty_fourths[intrinsics_n];
  bytes vector[intrinsics_n];
  for (int32_t n = 0; n < intrinsics_n; ++n)
    sixty_fourths[n] = (sums)0;
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < intrinsics_n; ++n)
      sum[m][n] = load_sums(acc + (m * intrinsics_n + n) * kdl_mma_columns);
  for (int32_t outer = 0; outer < k_outer; ++outer) {
    _Pragma("clang loop unroll(disable)") for (int32_t k = 0; k < intrinsics_k; ++k) {
      for (int32_t n = 0; n < intrinsics_n; ++n) {
        vector[n] = *(const unaligned_bytes *)(rhs + (k * intrinsics_n + n) * kdl_mma_columns * 4);
        /* 128 is not a signed byte; 64 is, and the sum is doubled at the end. */
        sixty_fourths[n] = dot_product(sixty_fourths[n], (bytes)64, vector[n]);
      }
      KDL_MMA_UNROLLED for (int32_t m = 0; m < intrinsics_m; ++m) {
        bytes word = flipped_word(lhs + (m * intrinsics_k + k) * 4);
        for (int32_t n = 0; n < intrinsics_n; ++n)
          sum[m][n] = dot_product(sum[m][n], word, vector[n]);
      }
    }
    lhs += intrinsics_m * intrinsics_k * 4;
    rhs += intrinsics_n * intrinsics_k * kdl_mma_columns * 4;
  }
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < intrinsics_n; ++n)
      store_sums(acc + (m * intrinsics_n + n) * kdl_mma_columns, sum[m][n] + sixty_fourths[n] * 2);
}

/* 20 fragments, 2 vectors, 2 of their sums, the constant, words under way. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(10, 2, 1);
}
