/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The kernels of kernels.c as one portable image, for every backend. */
#include <kdl/kernel.h>
KDL_BLOCK(64)
__gpu_kernel void scale(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = a * x[i];
}
KDL_BLOCK(1)
__gpu_kernel void place(__gpu_global uint32_t *out) {
  uint32_t x = __gpu_block_id(0), y = __gpu_block_id(1), z = __gpu_block_id(2);
  out[(z * __gpu_num_blocks(1) + y) * __gpu_num_blocks(0) + x] = x + 10 * y + 100 * z;
}
__attribute__((visibility("default"))) __gpu_global uint32_t weight = 3;
KDL_BLOCK(1)
__gpu_kernel void weigh(__gpu_global uint32_t *out) {
  out[0] *= weight;
}
