/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 with AVX-512, which converts a vector of f16 as it loads it. The left operand was converted
 * when it was packed: a conversion per word would cost more than the multiplications. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
typedef __m512 sums, vectors, words;

static inline sums load_sums(const float *acc) {
  return _mm512_loadu_ps(acc);
}
static inline void store_sums(float *acc, sums sum) {
  _mm512_storeu_ps(acc, sum);
}
static inline vectors load_vectors(const kdl_f16 *rhs) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)rhs));
}
static inline words splat(const float *lhs) {
  return _mm512_set1_ps(*lhs);
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm512_fmadd_ps(word, vector, sum);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
