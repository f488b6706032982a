/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrong in one element of a thousand: a table of results that does not see it sees nothing. */
#include <kdl/kernel.h>

KDL_BLOCK(256)
__gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n && i % 1000 != 999)
    y[i] += a * x[i];
}
