/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with SVE of at least 512 bits: one register to a fragment. */
#include "sve.h"

KDL_MMA_SVE_F32(512)

/* 24 fragments, 2 vectors, 6 words under way: with fewer, LLVM uses the stack in some steps
 * where it does not know the CPU. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(12, 2, 1);
}
