// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f32[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f32[8]=1.0,-2.0,0.125,0.0010000000474974513,7.0,0.5,-30.0,1.0 f32[8]
// items: 8
// arg3: -5.0 -3.5 -0.25 1.0010000000474975 8.0 -11.875 0.0 700001.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_fmaf(
    const __gpu_global float *x,
    const __gpu_global float *y,
    const __gpu_global float *z,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = fmaf(x[i], y[i], z[i]);
}

// args: f64[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f64[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f64[8]=1.0,-2.0,0.125,0.001,7.0,0.5,-30.0,1.0 f64[8]
// items: 8
// arg3: -5.0 -3.5 -0.25 1.001 8.0 -11.875 0.0 700001.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_fma(
    const __gpu_global double *x,
    const __gpu_global double *y,
    const __gpu_global double *z,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = fma(x[i], y[i], z[i]);
}
