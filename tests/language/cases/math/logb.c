// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=0.0010000000474974513,0.25,0.75,1.0,1.5,3.0,1000.0,1.0000000200408773e+20 f32[8]
// items: 8
// arg1: -10.0 -2.0 -1.0 0.0 0.0 1.0 9.0 66.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_logbf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = logbf(x[i]);
}

// args: f64[8]=0.001,0.25,0.75,1.0,1.5,3.0,1000.0,1e+20 f64[8]
// items: 8
// arg1: -10.0 -2.0 -1.0 0.0 0.0 1.0 9.0 66.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_logb(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = logb(x[i]);
}
