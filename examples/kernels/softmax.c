/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of each row of a matrix: y = exp(x - max x) / sum of these. A group does a row. */
#include "group.h"

#if KDL_HOST
#pragma clang fp reassociate(on) /* so that sums are vectorised */
#endif

enum { threads = KDL_THREADS(256) };

KDL_BLOCK(threads)
KDL_TILE(1)
__gpu_kernel void softmax(const __gpu_global float *x, __gpu_global float *y, uint32_t columns) {
  KDL_LOCAL(float, scratch[threads]);
  const __gpu_global float *from = x + (uint64_t)__gpu_block_id(0) * columns;
  __gpu_global float *to = y + (uint64_t)__gpu_block_id(0) * columns;
  uint32_t first = __gpu_thread_id(0), step = __gpu_num_threads(0);
  float most = from[0];
  for (uint32_t i = first; i < columns; i += step)
    most = kdl_max(most, from[i]);
  most = group_max(scratch, most);
  float sum = 0;
  for (uint32_t i = first; i < columns; i += step) {
    float e = kdl_exp(from[i] - most);
    to[i] = e;
    sum += e;
  }
  float scale = 1.0f / group_sum(scratch, sum);
  for (uint32_t i = first; i < columns; i += step)
    to[i] *= scale;
}
