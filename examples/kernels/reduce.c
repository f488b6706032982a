/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The sum of n numbers, added to *total: each group sums its tile. */
#include "group.h"

#if KDL_HOST
#pragma clang fp reassociate(on) /* so that sums are vectorised */
#endif

enum { threads = KDL_THREADS(256), tile = 4096 };

KDL_BLOCK(threads)
KDL_TILE(tile)
__gpu_kernel void reduce(const __gpu_global float *x, __gpu_global float *total, uint32_t n) {
  KDL_LOCAL(float, scratch[threads]);
  uint32_t begin = __gpu_block_id(0) * tile;
  uint32_t end = n - begin < tile ? n : begin + tile;
  float sum = 0;
  for (uint32_t i = begin + __gpu_thread_id(0); i < end; i += __gpu_num_threads(0))
    sum += x[i];
  sum = group_sum(scratch, sum);
  if (__gpu_thread_id(0) == 0)
    kdl_atomic_add_f32(total, sum);
}
