/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels with one number that work-items are compared with, below and above it, and one where it
 * is something else. */
#include <kdl/kernel.h>

#define INDEX (__gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0))

KDL_BLOCK(64)
__gpu_kernel void below(__gpu_global uint32_t *y, uint32_t n) {
  uint32_t i = INDEX;
  if (i < n)
    y[i] = i + 1;
}

KDL_BLOCK(64)
__gpu_kernel void above(__gpu_global uint32_t *y, uint32_t n) {
  uint32_t i = INDEX;
  if (i >= n)
    y[i] = i + 1;
}

KDL_BLOCK(64)
__gpu_kernel void added(__gpu_global uint32_t *y, uint32_t n) {
  y[INDEX] = n - __gpu_thread_id(0);
}
