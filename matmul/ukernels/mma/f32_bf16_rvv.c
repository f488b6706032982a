/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with the vectors of RISC-V, of which few have instructions for it: both values of a word are
 * multiplied in f32. */
#include "generic.h"

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
KDL_MMA_GENERIC_SUMS(float)
KDL_MMA_GENERIC_APART

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* Five fragments and a vector in two halves: 7 of 8 groups of registers. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(5, 1, 1);
}
