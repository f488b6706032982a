/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* c += a b, with a of m rows and k columns, b of k rows and n columns: what one process of summa.c
 * adds to its part of the product at a time, on devices other than the CPU. */
#include <kdl/kernel.h>

KDL_BLOCK(16, 16)
__gpu_kernel void panel(const __gpu_global float *a, const __gpu_global float *b,
                        __gpu_global float *c, uint32_t m, uint32_t n, uint32_t k) {
  uint32_t column = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  uint32_t row = __gpu_block_id(1) * __gpu_num_threads(1) + __gpu_thread_id(1);
  if (row >= m || column >= n)
    return;
  float sum = 0;
  for (uint32_t i = 0; i < k; ++i)
    sum += a[(uint64_t)row * k + i] * b[(uint64_t)i * n + column];
  c[(uint64_t)row * n + column] += sum;
}
