/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel that waits for its group, through another function. */
#include <kdl/kernel.h>

static inline void meet(void) {
  __gpu_sync_threads();
}

KDL_BLOCK(64)
__gpu_kernel void waits(__gpu_global float *y) {
  KDL_LOCAL(float, all[64]);
  all[__gpu_thread_id(0)] = y[__gpu_thread_id(0)];
  meet();
  y[__gpu_thread_id(0)] = all[63 - __gpu_thread_id(0)];
}

KDL_BLOCK(KDL_THREADS(64))
__gpu_kernel void waits_alone(__gpu_global float *y) {
  y[0] = 1;
  meet();
}

KDL_BLOCK(64)
__gpu_kernel void does_not(__gpu_global float *y) {
  y[0] = 1;
}
