/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with the vectors of RISC-V, without instructions for it. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE
KDL_MMA_GENERIC_HALVES

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

/* Five fragments, and a vector in three parts while it is converted: 8 of 8 groups of registers. */
uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(5, 1, 1);
}
