/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An error everywhere, and one more on CPUs. */
#include <kdl/kernel.h>

KDL_BLOCK(64) __gpu_kernel void fill(__gpu_global float *y) {
  y[0] = m;
#if KDL_HOST
  y[1] = h;
#endif
}
