/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with AVX2 and FMA. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 2, lhs_values = 1, rhs_values = 1 };
typedef __m256 sums, vectors, words;

static inline sums load_sums(const float *acc) {
  return _mm256_loadu_ps(acc);
}
static inline void store_sums(float *acc, sums sum) {
  _mm256_storeu_ps(acc, sum);
}
static inline vectors load_vectors(const float *rhs) {
  return _mm256_loadu_ps(rhs);
}
static inline words splat(const float *lhs) {
  return _mm256_set1_ps(*lhs);
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm256_fmadd_ps(word, vector, sum);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* 12 half fragments, 2 half vectors and a word: 15 of 16 registers. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
