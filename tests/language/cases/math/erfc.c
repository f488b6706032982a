// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-4.0,-1.0,-0.009999999776482582,0.0,0.0010000000474974513,0.5,2.0,4.0 f32[8]
// items: 8
// arg1: 1.999999984582742 1.8427007929497148 1.0112834153036625 1.0 0.9988716211554357 0.4795001221869535 0.004677734981047266 1.541725790028002e-08
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_erfcf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = erfcf(x[i]);
}

// args: f64[8]=-4.0,-1.0,-0.01,0.0,0.001,0.5,2.0,4.0 f64[8]
// items: 8
// arg1: 1.999999984582742 1.8427007929497148 1.0112834155558497 1.0 0.9988716212090307 0.4795001221869535 0.004677734981047266 1.541725790028002e-08
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_erfc(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = erfc(x[i]);
}
