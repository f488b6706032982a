/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with AVX-512. */
#define KDL_MMA_FETCHING_ROWS 10
#include "x86.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_X86_SINGLE(512)

static inline vectors load_vectors(const float *rhs) {
  return _mm512_loadu_ps(rhs);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
