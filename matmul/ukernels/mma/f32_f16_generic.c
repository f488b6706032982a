/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 for any CPU. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE
KDL_MMA_GENERIC_HALVES

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}
