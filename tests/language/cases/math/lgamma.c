// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=0.10000000149011612,0.5,1.25,1.75,2.5,4.0,12.5,100.0 f32[8]
// items: 8
// arg1: 2.252712636201601 0.5723649429247001 -0.09827183642181316 -0.08440112102048555 0.2846828704729192 1.791759469228055 18.734347511936445 359.1342053695754
// ulp: 64
KDL_BLOCK(8)
__gpu_kernel void math_lgammaf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = lgammaf(x[i]);
}

// args: f64[8]=0.1,0.5,1.25,1.75,2.5,4.0,12.5,100.0 f64[8]
// items: 8
// arg1: 2.252712651734206 0.5723649429247001 -0.09827183642181316 -0.08440112102048555 0.2846828704729192 1.791759469228055 18.734347511936445 359.1342053695754
// ulp: 64
KDL_BLOCK(8)
__gpu_kernel void math_lgamma(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = lgamma(x[i]);
}
