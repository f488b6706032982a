/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with AVX2. Its own instruction for bytes adds two products in 16 bits, where they saturate;
 * so the even and the odd bytes are widened, and their products added in 32 bits. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 2, lhs_values = 4, rhs_values = 4 };
typedef __m256i sums;
typedef struct {
  __m256i even, odd;
} vectors, words;

static inline sums load_sums(const int32_t *acc) {
  return _mm256_loadu_si256((const __m256i_u *)acc);
}
static inline void store_sums(int32_t *acc, sums sum) {
  _mm256_storeu_si256((__m256i_u *)acc, sum);
}
static inline vectors load_vectors(const int8_t *rhs) {
  __m256i bytes = _mm256_loadu_si256((const __m256i_u *)rhs);
  return (vectors){_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}
static inline words splat(const uint8_t *lhs) {
  __m256i bytes = _mm256_set1_epi32(kdl_mma_word_s32(lhs));
  return (words){_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(bytes, 8)};
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(word.even, vector.even),
                                                _mm256_madd_epi16(word.odd, vector.odd)));
}

KDL_MMA_LOOP(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

/* 8 half fragments, 2 half vectors and a word, both in two halves: 14 of 16 registers. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(4, 1, 1);
}
