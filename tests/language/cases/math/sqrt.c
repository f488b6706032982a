// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0000000031710769e-30,0.0010000000474974513,0.5,1.0,1.100000023841858,2.0,123.5,1.0000000150474662e+30 f32[8]
// items: 8
// arg1: 1.0000000015855385e-15 0.03162277735268443 0.7071067811865476 1.0 1.0488088595363112 1.4142135623730951 11.113055385446435 1000000007523733.1
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_sqrtf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sqrtf(x[i]);
}

// args: f64[8]=1e-30,0.001,0.5,1.0,1.1,2.0,123.5,1e+30 f64[8]
// items: 8
// arg1: 1e-15 0.03162277660168379 0.7071067811865476 1.0 1.0488088481701516 1.4142135623730951 11.113055385446435 1000000000000000.0
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_sqrt(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sqrt(x[i]);
}
