// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: -0.3889827415450001 -0.25 -0.09641124797922956 0.0 0.03172551790017604 0.19440010966753724 0.3128329581890012 0.4840977487438236
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atanpif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atanpif(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: -0.3889827415450001 -0.25 -0.09641124797922956 0.0 0.031725517430553574 0.19440011221421477 0.3128329581890012 0.4840977487438236
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atanpi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atanpi(x[i]);
}
