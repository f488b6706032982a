/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of each row of a matrix: y = (x - mean) / sqrt(variance + epsilon) * gain + bias, with a gain and
 * a bias for each column. A group does a row. */
#include "group.h"

#if KDL_HOST
#pragma clang fp reassociate(on) /* so that sums are vectorised */
#endif

enum { threads = KDL_THREADS(256) };

KDL_BLOCK(threads)
KDL_TILE(1)
__gpu_kernel void layernorm(const __gpu_global float *x, const __gpu_global float *gain,
                            const __gpu_global float *bias, __gpu_global float *y, uint32_t columns,
                            float epsilon) {
  KDL_LOCAL(float, scratch[threads]);
  const __gpu_global float *from = x + (uint64_t)__gpu_block_id(0) * columns;
  __gpu_global float *to = y + (uint64_t)__gpu_block_id(0) * columns;
  uint32_t first = __gpu_thread_id(0), step = __gpu_num_threads(0);
  float sum = 0;
  for (uint32_t i = first; i < columns; i += step)
    sum += from[i];
  float mean = group_sum(scratch, sum) / (float)columns;
  float squares = 0;
  for (uint32_t i = first; i < columns; i += step)
    squares += (from[i] - mean) * (from[i] - mean);
  float variance = group_sum(scratch, squares) / (float)columns;
  float scale = 1.0f / kdl_sqrt(variance + epsilon);
  for (uint32_t i = first; i < columns; i += step)
    to[i] = (from[i] - mean) * scale * gain[i] + bias[i];
}
