/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void twice(__gpu_global _Float16 *x, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    x[i] = x[i] * (_Float16)2;
}
