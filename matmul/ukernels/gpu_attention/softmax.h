/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The softmax of rows whose scores come block by block. A lane has values of two rows, and shares
 * each with three other lanes. */
#ifndef KDL_MATMUL_UKERNELS_GPU_ATTENTION_SOFTMAX_H
#define KDL_MATMUL_UKERNELS_GPU_ATTENTION_SOFTMAX_H

#include "schedule.h"

/* Of the blocks so far, for each row: the largest score, and the sum of exponentials of the scores
 * less the largest one. The sum is of this lane's columns alone. */
typedef struct {
  float most[2], sum[2];
} state;

#define NONE (-__builtin_inff())

INLINE float exponential(float x) { /* of two */
  return __nvvm_ex2_approx_ftz_f(x);
}

INLINE float of_lanes(float x, uint32_t distance) {
  return kdl_f32_bits(
      (uint32_t)__nvvm_shfl_sync_bfly_i32(~0u, (int)kdl_bits_f32(x), (int)distance, 31));
}
INLINE float most_of_row(float x) {
  x = __builtin_fmaxf(x, of_lanes(x, 1));
  return __builtin_fmaxf(x, of_lanes(x, 2));
}
INLINE float sum_of_row(float x) {
  x += of_lanes(x, 1);
  return x + of_lanes(x, 2);
}

/* Scores of keys that a row does not have: `limits` are the first such keys of both rows, counted
 * from the first column of the block that the lane has. */
INLINE void mask(float *s, const int32_t *limits, int32_t fragments) {
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 4 * fragments; ++i)
    s[i] = 8 * (i / 4) + i % 2 < limits[i / 2 % 2] ? s[i] : NONE;
}

/* Takes a block: its scores become exponentials. What came from the blocks before is to be
 * multiplied by `scales`. A row without a key so far has zeros. */
INLINE void add_block(state *rows, float *s, float *scales, float scale, int32_t fragments) {
#pragma clang loop unroll(full)
  for (int32_t r = 0; r < 2; ++r) {
    float *row = s + 2 * r;
    float halves[2] = {row[0], row[1]}; /* so that fewer wait for the one before */
#pragma clang loop unroll(full)
    for (int32_t i = 2; i < 2 * fragments; ++i)
      halves[i % 2] = __builtin_fmaxf(halves[i % 2], row[4 * (i / 2) + i % 2]);
    float most = most_of_row(__builtin_fmaxf(halves[0], halves[1]));
    most = __builtin_fmaxf(most, rows->most[r]);
    const float less = most == NONE ? 0.0f : -most * scale;
    scales[r] = exponential(__builtin_fmaf(rows->most[r], scale, less));
    rows->most[r] = most;
    float sum = 0.0f;
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < 2 * fragments; ++i) {
      float *value = &row[4 * (i / 2) + i % 2];
      *value = exponential(__builtin_fmaf(*value, scale, less));
      sum = i ? sum + *value : *value;
    }
    rows->sum[r] = __builtin_fmaf(rows->sum[r], scales[r], sum);
  }
}

#endif
