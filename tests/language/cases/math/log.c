// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0000000031710769e-30,0.0010000000474974513,0.5,1.0,1.100000023841858,2.0,123.5,1.0000000150474662e+30 f32[8]
// items: 8
// arg1: -69.07755278665029 -6.907755231484687 -0.6931471805599453 0.0 0.0953102014787409 0.6931471805599453 4.816241156068032 69.07755280486883
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_logf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = logf(x[i]);
}

// args: f64[8]=1e-30,0.001,0.5,1.0,1.1,2.0,123.5,1e+30 f64[8]
// items: 8
// arg1: -69.07755278982137 -6.907755278982137 -0.6931471805599453 0.0 0.09531017980432493 0.6931471805599453 4.816241156068032 69.07755278982137
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_log(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log(x[i]);
}
