// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-100.0,-3.0,-0.5,0.0,0.75,1.5707963705062866,12.0,100000.0 f32[8]
// items: 8
// arg1: 0.8623188722876839 -0.9899924966004454 0.8775825618903728 1.0 0.7316888688738209 -4.371139000186241e-08 0.8438539587324921 -0.9993608074382124
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_cosf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cosf(x[i]);
}

// args: f64[8]=-100.0,-3.0,-0.5,0.0,0.75,1.5707964,12.0,100000.0 f64[8]
// items: 8
// arg1: 0.8623188722876839 -0.9899924966004454 0.8775825618903728 1.0 0.7316888688738209 -7.320510347335801e-08 0.8438539587324921 -0.9993608074382124
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_cos(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cos(x[i]);
}
