/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 with NEON: four registers to a fragment. */
#include "loop.h"

#include <arm_neon.h>

enum { parts = 4, lhs_values = 1, rhs_values = 1 };
typedef float32x4_t sums, vectors, words;

static inline sums load_sums(const float *acc) {
  return vld1q_f32(acc);
}
static inline void store_sums(float *acc, sums sum) {
  vst1q_f32(acc, sum);
}
static inline vectors load_vectors(const float *rhs) {
  return vld1q_f32(rhs);
}
static inline words splat(const float *lhs) {
  return vld1q_dup_f32(lhs);
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return vfmaq_f32(sum, word, vector);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* 24 quarters of fragments, 4 of vectors and a word: 29 of 32 registers. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(6, 1, 1);
}
