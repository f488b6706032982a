// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0000000031710769e-30,0.0010000000474974513,0.5,1.0,1.100000023841858,2.0,123.5,1.0000000150474662e+30 f32[8]
// items: 8
// arg1: 999999998414461.6 31.622775850683173 1.4142135623730951 1.0 0.9534625789127199 0.7071067811865476 0.08998425413316952 9.99999992476267e-16
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_rsqrtf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = rsqrtf(x[i]);
}

// args: f64[8]=1e-30,0.001,0.5,1.0,1.1,2.0,123.5,1e+30 f64[8]
// items: 8
// arg1: 1000000000000000.0 31.622776601683793 1.4142135623730951 1.0 0.9534625892455922 0.7071067811865476 0.08998425413316952 1e-15
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_rsqrt(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = rsqrt(x[i]);
}
