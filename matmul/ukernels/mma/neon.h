/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What microkernels for f32 and f16 share on NEON: parts of what loop.h wants to be defined. Words
 * are one f32, and a fragment has four registers. */
#ifndef KDL_MATMUL_UKERNELS_MMA_NEON_H
#define KDL_MATMUL_UKERNELS_MMA_NEON_H

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
static inline words splat(const float *lhs) {
  return vld1q_dup_f32(lhs);
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return vfmaq_f32(sum, word, vector);
}

#endif
