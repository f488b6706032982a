// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f32[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f32[8]
// items: 8
// arg2: 2.0 -0.5 0.25 1.0 0.5 -2.25 3.0 7.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_minmagf(
    const __gpu_global float *x,
    const __gpu_global float *y,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = minmagf(x[i], y[i]);
}

// args: f64[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f64[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f64[8]
// items: 8
// arg2: 2.0 -0.5 0.25 1.0 0.5 -2.25 3.0 7.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_minmag(
    const __gpu_global double *x,
    const __gpu_global double *y,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = minmag(x[i], y[i]);
}
