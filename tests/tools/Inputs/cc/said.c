/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels say of themselves. */
#include <kdl/kernel.h>

enum { width = 8 };

KDL_BLOCK(width * 4, 2)
KDL_TILE(64, width, 3)
KDL_REVISION(7)
__gpu_kernel void all(__gpu_global float *y) {
  y[0] = 1;
}

KDL_SUBGROUP(32) KDL_BLOCK(64) __gpu_kernel void some(__gpu_global float *y) {
  y[0] = 2;
}

__gpu_kernel void none(__gpu_global float *y);
__gpu_kernel void none(__gpu_global float *y) {
  y[0] = 3;
}

__gpu_kernel void never(__gpu_global float *y);
