/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AMX. */
#define multiply(sum, lhs, rhs) _tile_dpbf16ps(sum, lhs, rhs)
#include "amx_block.h"

KDL_MMA_AMX(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)
KDL_MMA_AMX_BLOCK(kdl_uk_mma_f32_bf16_block, kdl_bf16, float)

uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(32, 2, 16);
}
