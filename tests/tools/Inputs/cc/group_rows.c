/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A group of 16 rows of 16: work-items of a row read neighbours. */
#include <kdl/kernel.h>

KDL_BLOCK(16, 16)
__gpu_kernel void rows(const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  KDL_LOCAL(float, square[18][18]);
  uint32_t i = __gpu_thread_id(0), k = __gpu_thread_id(1);
  uint32_t column = __gpu_block_id(0) * 16 + i, row = __gpu_block_id(1) * 16 + k;
  square[k + 1][i + 1] = x[row * n + column];
  if (i == 0)
    square[k + 1][0] = column ? x[row * n + column - 1] : 0.0f;
  __gpu_sync_threads();
  y[row * n + column] = 0.2f * (square[k + 1][i + 1] + square[k][i + 1] + square[k + 2][i + 1] +
                                square[k + 1][i] + square[k + 1][i + 2]);
}
