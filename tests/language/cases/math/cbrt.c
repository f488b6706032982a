// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: -1.4010196653276936 -1.0 -0.6786044041487267 0.0 0.46415888566678 0.8879039967022957 1.1447142425533319 2.7144176165949068
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_cbrtf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cbrtf(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: -1.4010196653276936 -1.0 -0.6786044041487267 0.0 0.4641588833612779 0.8879040017426006 1.1447142425533319 2.7144176165949068
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_cbrt(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cbrt(x[i]);
}
