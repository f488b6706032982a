/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AVX-512 that lacks BF16. */
#include "x86.h"

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
KDL_MMA_X86_APART(512)
KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 24 fragments, 2 vectors and a word, both in two halves. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(12, 2, 1);
}
