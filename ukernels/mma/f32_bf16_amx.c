/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AMX. */
#include "amx.h"

KDL_MMA_AMX(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float, _tile_dpbf16ps)

uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(128, 2, 16);
}
