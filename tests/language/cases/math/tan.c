// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-100.0,-3.0,-0.5,0.0,0.75,1.25,12.0,1000.0 f32[8]
// items: 8
// arg1: 0.5872139151569291 0.1425465430742778 -0.5463024898437905 0.0 0.9315964599440725 3.0095696738628313 -0.6358599286615808 1.4703241557027185
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_tanf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tanf(x[i]);
}

// args: f64[8]=-100.0,-3.0,-0.5,0.0,0.75,1.25,12.0,1000.0 f64[8]
// items: 8
// arg1: 0.5872139151569291 0.1425465430742778 -0.5463024898437905 0.0 0.9315964599440725 3.0095696738628313 -0.6358599286615808 1.4703241557027185
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_tan(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tan(x[i]);
}
