/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a transformer block takes besides the kernels of examples/kernels. */
#include <kdl/kernel.h>

/* y, of n rows and m columns, is x with rows and columns exchanged. */
KDL_BLOCK(16, 16)
__gpu_kernel void transpose(const __gpu_global float *x, __gpu_global float *y, uint32_t m,
                            uint32_t n) {
  uint32_t column = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  uint32_t row = __gpu_block_id(1) * __gpu_num_threads(1) + __gpu_thread_id(1);
  if (row < m && column < n)
    y[(uint64_t)column * m + row] = x[(uint64_t)row * n + column];
}

/* x = x / (1 + exp(-1.702 x)), which is near to GELU. */
KDL_BLOCK(256)
__gpu_kernel void gelu(__gpu_global float *x, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    x[i] = x[i] / (1.0f + kdl_exp(-1.702f * x[i]));
}
