/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 for any CPU. */
#include "block.h"
#include "generic.h"

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
KDL_MMA_GENERIC_SUMS(float)
KDL_MMA_GENERIC_APART

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* For 16 registers of 4 lanes. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}

KDL_MMA_BLOCK(kdl_uk_mma_f32_bf16_block, kdl_bf16, float, lhs_values, kdl_mma_bf16_value)
