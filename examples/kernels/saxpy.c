/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* y = a x + y: one work-item for each element. On the CPU a group is a loop, which is vectorised.
 */
#include <kdl/kernel.h>

KDL_BLOCK(256)
__gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] += a * x[i];
}
