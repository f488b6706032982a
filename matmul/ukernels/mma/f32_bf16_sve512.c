/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with SVE of at least 512 bits, where there are no instructions for bf16. */
#include "sve.h"

KDL_MMA_SVE_APART(512)

/* 24 fragments, 2 vectors and a word, each in two halves. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(12, 2, 1);
}
