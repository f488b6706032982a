/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with SVE of at least 512 bits, converted as it is loaded. The left operand was converted when
 * it was packed. */
#include "sve.h"

KDL_MMA_SVE_F16(512)

/* 24 fragments, 2 vectors, 6 words under way: with fewer, LLVM uses the stack in some steps
 * where it does not know the CPU. */
uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(12, 2, 1);
}
