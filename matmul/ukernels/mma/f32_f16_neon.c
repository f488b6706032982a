/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with NEON, which converts it since armv8-a. The left operand was converted when it was
 * packed. */
#include "neon.h"

static inline vectors load_vectors(const kdl_f16 *rhs) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(rhs)));
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

/* 24 quarters of fragments, 4 of vectors and a word: 29 of 32 registers. */
uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
