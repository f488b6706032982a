/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with USMMLA of SVE, of at least 512 bits. It takes no longer than USDOT and multiplies
 * twice as much, which is worth the exchange of columns. */
#include "sve_pairs.h"

KDL_MMA_SVE_U8S8(512)

/* 24 registers of sums, 4 of columns, 1 of rows; more rows would leave none for these. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(12, 2, 2);
}
