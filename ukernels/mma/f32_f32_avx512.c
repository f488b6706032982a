/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with AVX-512. */
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
static inline vectors load_vectors(const float *rhs) {
  return _mm512_loadu_ps(rhs);
}
static inline words splat(const float *lhs) {
  return _mm512_set1_ps(*lhs);
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm512_fmadd_ps(word, vector, sum);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
