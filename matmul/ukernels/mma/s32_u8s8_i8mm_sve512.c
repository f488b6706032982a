/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with USMMLA of SVE, of at least 512 bits. It takes no longer than USDOT and multiplies
 * twice as much, which is worth the exchange of columns. */
#include "sve_pairs.h"

KDL_MMA_SVE_U8S8(512)

/* 20 registers of sums, 4 of columns, 8 for rows and what is loaded for them. With two rows more
 * the exchange of columns would cost hardly less, and LLVM uses the stack where it does not know
 * the CPU. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(10, 2, 2);
}
