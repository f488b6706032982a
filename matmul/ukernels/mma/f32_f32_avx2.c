/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with AVX2 and FMA. */
#include "x86.h"

enum { parts = 2, lhs_values = 1, rhs_values = 1 };
KDL_MMA_X86_SINGLE(256)

static inline vectors load_vectors(const float *rhs) {
  return _mm256_loadu_ps(rhs);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* 12 half fragments, 2 half vectors and a word: 15 of 16 registers. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
