/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with SVE of at least 512 bits, where there are no instructions for bf16. */
#include "sve.h"

KDL_MMA_SVE_APART(512)

/* 16 fragments, 2 vectors in two halves, words under way in two halves. More rows would not be
 * faster: each word takes two instructions, whatever their number. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(8, 2, 1);
}
