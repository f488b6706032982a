/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arithmetic that not every GPU has. */
#include <kdl/kernel.h>

__gpu_kernel void twice(__gpu_global double *y) {
  y[0] *= 2;
}
