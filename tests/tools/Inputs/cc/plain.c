/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel whose pointer is plain. */
#include <kdl/kernel.h>

__gpu_kernel void plain(const float *x, __gpu_global float *y) {
  y[0] = x[0];
}
