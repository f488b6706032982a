// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: 0.0017782794100389228 0.1 0.4869675251658631 1.0 1.2589254161136902 5.011872198702075 31.622776601683793 1e+20
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_exp10f(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = exp10f(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: 0.0017782794100389228 0.1 0.4869675251658631 1.0 1.2589254117941673 5.011872336272722 31.622776601683793 1e+20
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_exp10(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = exp10(x[i]);
}
