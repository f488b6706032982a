// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-0.9900000095367432,-0.5,-0.009999999776482582,0.0,9.999999974752427e-07,0.25,0.75,0.9990000128746033 f32[8]
// items: 8
// arg1: -2.6466528915957985 -0.5493061443340549 -0.01000033312979499 0.0 9.99999997475576e-07 0.25541281188299536 0.9729550745276566 3.800207607813536
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atanhf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atanhf(x[i]);
}

// args: f64[8]=-0.99,-0.5,-0.01,0.0,1e-06,0.25,0.75,0.999 f64[8]
// items: 8
// arg1: -2.6466524123622457 -0.5493061443340549 -0.010000333353334763 0.0 1.0000000000003333e-06 0.25541281188299536 0.9729550745276566 3.8002011672501994
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atanh(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atanh(x[i]);
}
