/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void scale(__gpu_global __bf16 *x, __bf16 by, __gpu_global _Float16 *y, kdl_half k,
                        const __gpu_global kdl_bf16 *a, const __gpu_global kdl_half *b) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  x[i] = x[i] * by;
  y[i] =
      y[i] + (_Float16)kdl_half_float(k) + (_Float16)(kdl_bf16_float(a[i]) + kdl_half_float(b[i]));
}
