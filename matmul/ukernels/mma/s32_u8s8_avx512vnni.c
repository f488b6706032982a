/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with AVX-512 VNNI, whose instruction multiplies unsigned by signed bytes. */
#include "loop.h"

#include <immintrin.h>

enum { parts = 1, lhs_values = 4, rhs_values = 4 };
typedef __m512i sums, vectors, words;

static inline sums load_sums(const int32_t *acc) {
  return _mm512_loadu_si512(acc);
}
static inline void store_sums(int32_t *acc, sums sum) {
  _mm512_storeu_si512(acc, sum);
}
static inline vectors load_vectors(const int8_t *rhs) {
  return _mm512_loadu_si512(rhs);
}
static inline words splat(const uint8_t *lhs) {
  return _mm512_set1_epi32(kdl_mma_word_s32(lhs));
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm512_dpbusd_epi32(sum, word, vector);
}

KDL_MMA_LOOP(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
