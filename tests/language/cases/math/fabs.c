// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: 2.75 1.0 0.3125 0.0 0.10000000149011612 0.699999988079071 1.5 20.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_fabsf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = fabsf(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: 2.75 1.0 0.3125 0.0 0.1 0.7 1.5 20.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_fabs(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = fabs(x[i]);
}
