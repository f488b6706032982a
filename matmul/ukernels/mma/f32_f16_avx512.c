/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with AVX-512, which converts a vector of f16 as it loads it. The left operand was converted
 * when it was packed: a conversion per word would cost more than the multiplications. */
#include "x86.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_X86_SINGLE(512)

static inline vectors load_vectors(const kdl_f16 *rhs) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)rhs));
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
