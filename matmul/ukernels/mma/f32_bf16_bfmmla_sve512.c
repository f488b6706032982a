/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with BFMMLA of SVE, of at least 512 bits. It takes no longer than BFDOT and multiplies twice
 * as much, which is worth the exchange of columns. */
#include "sve_pairs.h"

KDL_MMA_SVE_BF16(512)

/* 20 registers of sums, 4 of columns, 8 for rows and what is loaded for them. With two rows more
 * the exchange of columns would cost hardly less, and LLVM uses the stack where it does not know
 * the CPU. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(10, 2, 2);
}
