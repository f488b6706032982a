/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with the vectors of RISC-V: 16 lanes are four registers of 128 bits, the least there are. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE

static inline vectors load_vectors(const float *rhs) {
  return *(const unaligned_sums *)rhs;
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* Six fragments and a vector: 7 of 8 groups of registers. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
