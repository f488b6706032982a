// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-1.0,-0.75,-0.10000000149011612,0.0,9.999999747378752e-06,0.30000001192092896,0.8999999761581421,1.0 f32[8]
// items: 8
// arg1: 1.0 0.7699465438373841 0.5318842809059682 0.5 0.4999968169012185 0.40301331200155294 0.14356631053929264 0.0
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_acospif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acospif(x[i]);
}

// args: f64[8]=-1.0,-0.75,-0.1,0.0,1e-05,0.3,0.9,1.0 f64[8]
// items: 8
// arg1: 1.0 0.7699465438373841 0.53188428042926 0.5 0.4999968169011381 0.4030133159793217 0.14356629312870625 0.0
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_acospi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acospi(x[i]);
}
