/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AVX2 and FMA. */
#include "x86.h"

enum { parts = 2, lhs_values = 2, rhs_values = 2 };
KDL_MMA_X86_APART(256)
KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 8 half fragments, 2 half vectors and a word, both in two halves: 14 of 16 registers. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(4, 1, 1);
}
