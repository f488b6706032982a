/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A sum by subgroups, of whatever size. */
#include <kdl/kernel.h>

enum { tile = 64 };

KDL_BLOCK(KDL_THREADS(tile))
KDL_TILE(tile)
__gpu_kernel void lanes(const __gpu_global float *x, __gpu_global float *total) {
  uint32_t begin = __gpu_block_id(0) * tile;
  for (uint32_t i = __gpu_thread_id(0); i < tile; i += __gpu_num_threads(0)) {
    float sum = __gpu_lane_sum_f32(__gpu_lane_mask(), x[begin + i]);
    if (__gpu_is_first_in_lane(__gpu_lane_mask()))
      kdl_atomic_add_f32(total, sum);
  }
}
