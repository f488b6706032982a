/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What Oclgrind finds: a race, a barrier that half a group reaches, a read beyond a buffer. */
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void race(__gpu_global float *y) {
  KDL_LOCAL(float, all[64]);
  all[__gpu_thread_id(0)] = y[__gpu_thread_id(0)];
  y[__gpu_thread_id(0)] = all[63 - __gpu_thread_id(0)];
}

KDL_BLOCK(64)
__gpu_kernel void diverges(__gpu_global float *y) {
  KDL_LOCAL(float, all[64]);
  all[__gpu_thread_id(0)] = y[__gpu_thread_id(0)];
  if (__gpu_thread_id(0) < 32)
    __gpu_sync_threads();
  y[__gpu_thread_id(0)] = 1;
}

KDL_BLOCK(64)
__gpu_kernel void beyond(const __gpu_global float *x, __gpu_global float *y) {
  y[__gpu_thread_id(0)] = x[__gpu_thread_id(0) + 1];
}
