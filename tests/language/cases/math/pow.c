// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=0.5,1.5,2.0,10.0,3.25,0.0010000000474974513,7.0,-2.0 f32[8]=2.0,-3.5,10.0,0.30000001192092896,0.0,5.0,1.0,3.0 f32[8]
// items: 8
// arg2: 0.25 0.2419249128674744 1024.0 1.9952623697367424 1.0 1.000000237487279e-15 7.0 -8.0
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_powf(
    const __gpu_global float *x,
    const __gpu_global float *y,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = powf(x[i], y[i]);
}

// args: f64[8]=0.5,1.5,2.0,10.0,3.25,0.001,7.0,-2.0 f64[8]=2.0,-3.5,10.0,0.3,0.0,5.0,1.0,3.0 f64[8]
// items: 8
// arg2: 0.25 0.2419249128674744 1024.0 1.9952623149688795 1.0 1e-15 7.0 -8.0
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_pow(
    const __gpu_global double *x,
    const __gpu_global double *y,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = pow(x[i], y[i]);
}
