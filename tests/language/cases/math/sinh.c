// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-4.0,-1.0,-0.009999999776482582,0.0,0.0010000000474974513,0.5,2.0,4.0 f32[8]
// items: 8
// arg1: -27.289917197127753 -1.1752011936438014 -0.010000166443971408 0.0 0.00100000021416415 0.5210953054937474 3.6268604078470186 27.289917197127753
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sinhf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sinhf(x[i]);
}

// args: f64[8]=-4.0,-1.0,-0.01,0.0,0.001,0.5,2.0,4.0 f64[8]
// items: 8
// arg1: -27.289917197127753 -1.1752011936438014 -0.010000166667500003 0.0 0.001000000166666675 0.5210953054937474 3.6268604078470186 27.289917197127753
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sinh(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sinh(x[i]);
}
