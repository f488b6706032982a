/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 for any CPU. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE

static inline vectors load_vectors(const float *rhs) {
  return *(const unaligned_sums *)rhs;
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* For 16 registers of 4 lanes. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}
