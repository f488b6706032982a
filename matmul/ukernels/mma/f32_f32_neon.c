/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with NEON. */
#include "neon.h"

static inline vectors load_vectors(const float *rhs) {
  return vld1q_f32(rhs);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* 24 quarters of fragments, 4 of vectors and a word: 29 of 32 registers. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
