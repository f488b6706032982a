/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <math.h>

KDL_BLOCK(256)
__gpu_kernel void waves(const __gpu_global float *x, __gpu_global float *y) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  y[i] = sinf(x[i]) + fmaf(x[i], 2.0f, 0.5f);
}
