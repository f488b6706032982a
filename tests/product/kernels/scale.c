/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <factor.h>
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void scale(__gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] *= FACTOR;
}
