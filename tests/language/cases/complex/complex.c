// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kdl/kernel.h>

// args: f32[4]=3,4,1,-2 f32[4] f64[2]
// grid: 1
// arg1: -7 24 -1 2
// arg2: -1 2
// not: opencl-c
KDL_BLOCK(1)
__gpu_kernel void complex_numbers(const __gpu_global float *x, __gpu_global float *y,
                                  __gpu_global double *z) {
  float _Complex a, b;
  __real__ a = x[0];
  __imag__ a = x[1];
  __real__ b = x[2];
  __imag__ b = x[3];
  float _Complex product = a * a, quotient = a / b;
  y[0] = __real__ product;
  y[1] = __imag__ product;
  y[2] = __real__ quotient;
  y[3] = __imag__ quotient;
  double _Complex wide = (double _Complex)a / (double _Complex)b;
  z[0] = __real__ wide;
  z[1] = __imag__ wide;
}
