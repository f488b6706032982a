// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-4.0,-1.0,-0.009999999776482582,0.0,0.0010000000474974513,0.5,2.0,4.0 f32[8]
// items: 8
// arg1: 27.308232836016487 1.5430806348152437 1.0000500004144328 1.0 1.000000500000089 1.1276259652063807 3.7621956910836314 27.308232836016487
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_coshf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = coshf(x[i]);
}

// args: f64[8]=-4.0,-1.0,-0.01,0.0,0.001,0.5,2.0,4.0 f64[8]
// items: 8
// arg1: 27.308232836016487 1.5430806348152437 1.0000500004166681 1.0 1.0000005000000416 1.1276259652063807 3.7621956910836314 27.308232836016487
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_cosh(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cosh(x[i]);
}
