// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: -0.9360721387932924 -0.6321205588285577 -0.2683843710533582 0.0 0.10517091972248063 1.0137526834646737 3.481689070338065 485165194.4097903
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_expm1f(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = expm1f(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: -0.9360721387932924 -0.6321205588285577 -0.2683843710533582 0.0 0.10517091807564763 1.0137527074704764 3.481689070338065 485165194.4097903
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_expm1(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = expm1(x[i]);
}
