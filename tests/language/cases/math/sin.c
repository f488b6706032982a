// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-100.0,-3.0,-0.5,0.0,0.75,1.5707963705062866,12.0,100000.0 f32[8]
// items: 8
// arg1: 0.5063656411097588 -0.1411200080598672 -0.479425538604203 0.0 0.6816387600233341 0.999999999999999 -0.5365729180004349 0.03574879797201651
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sinf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sinf(x[i]);
}

// args: f64[8]=-100.0,-3.0,-0.5,0.0,0.75,1.5707964,12.0,100000.0 f64[8]
// items: 8
// arg1: 0.5063656411097588 -0.1411200080598672 -0.479425538604203 0.0 0.6816387600233341 0.9999999999999973 -0.5365729180004349 0.03574879797201651
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sin(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sin(x[i]);
}
