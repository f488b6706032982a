// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0000000031710769e-30,0.0010000000474974513,0.5,1.0,1.100000023841858,2.0,123.5,1.0000000150474662e+30 f32[8]
// items: 8
// arg1: -99.65784284204598 -9.96578421613775 -1.0 0.0 0.13750355501950745 1.0 6.948367231584678 99.65784286832978
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_log2f(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log2f(x[i]);
}

// args: f64[8]=1e-30,0.001,0.5,1.0,1.1,2.0,123.5,1e+30 f64[8]
// items: 8
// arg1: -99.65784284662087 -9.965784284662087 -1.0 0.0 0.13750352374993502 1.0 6.948367231584678 99.65784284662087
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_log2(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log2(x[i]);
}
