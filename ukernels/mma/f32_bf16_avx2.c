/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AVX2 and FMA: as with AVX-512 that lacks BF16, in half registers. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 2, lhs_values = 2, rhs_values = 2 };
typedef __m256 sums;
typedef struct {
  __m256 even, odd;
} vectors, words;

static inline words apart(__m256i pairs) {
  return (words){(__m256)_mm256_slli_epi32(pairs, 16),
                 (__m256)_mm256_and_si256(pairs, _mm256_set1_epi32((int32_t)0xffff0000))};
}
static inline sums load_sums(const float *acc) {
  return _mm256_loadu_ps(acc);
}
static inline void store_sums(float *acc, sums sum) {
  _mm256_storeu_ps(acc, sum);
}
static inline vectors load_vectors(const kdl_bf16 *rhs) {
  return apart(_mm256_loadu_si256((const __m256i_u *)rhs));
}
static inline words splat(const kdl_bf16 *lhs) {
  return apart(_mm256_set1_epi32(kdl_mma_word_s32(lhs)));
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm256_fmadd_ps(word.odd, vector.odd, _mm256_fmadd_ps(word.even, vector.even, sum));
}

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 8 half fragments, 2 half vectors and a word, both in two halves: 14 of 16 registers. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(4, 1, 1);
}
