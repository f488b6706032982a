/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 with AVX-512 BF16: one instruction per fragment and step. */
#include "x86.h"

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
KDL_MMA_X86_SUMS(512)
typedef __m512bh vectors, words;

static inline vectors load_vectors(const kdl_bf16 *rhs) {
  return (vectors)_mm512_loadu_si512(rhs);
}
/* A splat of f32 is the shape that becomes an operand broadcast from memory. */
static inline words splat(const kdl_bf16 *lhs) {
  return (words)_mm512_set1_ps(kdl_mma_word_f32(lhs));
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return _mm512_dpbf16_ps(sum, word, vector);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* 28 fragments, 2 vectors and 2 words on their way: 32 registers. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(14, 2, 1);
}
