/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <kdl/kernel.h>

template <class T> static inline T shifted(T x) {
  return x + 1;
}

KDL_BLOCK(64)
__gpu_kernel void shift(__gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = shifted(y[i]);
}
