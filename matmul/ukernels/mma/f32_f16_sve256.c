/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with SVE of at least 256 bits, converted as it is loaded. The left operand was converted when
 * it was packed. */
#include "sve.h"

KDL_MMA_SVE_F16(256)

/* 28 halves of fragments, 2 of a vector, 2 words under way. */
uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(14, 1, 1);
}
