/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with BFMMLA of SVE, of at least 256 bits. It takes no longer than BFDOT and multiplies twice
 * as much, which is worth the exchange of columns. */
#include "sve_pairs.h"

KDL_MMA_SVE_BF16(256)

/* 24 registers of sums, 4 of columns, 1 of rows; more rows would leave none for these. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(12, 1, 2);
}
