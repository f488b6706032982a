/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AVX-512 that lacks BF16. The bits of a bf16 are the upper half of an f32: each word is
 * taken apart into its two values, and each is multiplied in f32. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
typedef __m512 sums;
typedef struct {
  __m512 even, odd;
} vectors, words;

static inline words apart(__m512i pairs) {
  return (words){(__m512)_mm512_slli_epi32(pairs, 16),
                 (__m512)_mm512_and_si512(pairs, _mm512_set1_epi32((int32_t)0xffff0000))};
}
static inline sums load_sums(const float *acc) {
  return _mm512_loadu_ps(acc);
}
static inline void store_sums(float *acc, sums sum) {
  _mm512_storeu_ps(acc, sum);
}
static inline vectors load_vectors(const kdl_bf16 *rhs) {
  return apart(_mm512_loadu_si512(rhs));
}
static inline words splat(const kdl_bf16 *lhs) {
  return apart(_mm512_set1_epi32(kdl_mma_word_s32(lhs)));
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm512_fmadd_ps(word.odd, vector.odd, _mm512_fmadd_ps(word.even, vector.even, sum));
}

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 24 fragments, 2 vectors and a word, both in two halves. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(12, 2, 1);
}
