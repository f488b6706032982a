// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-4.0,-1.0,-0.009999999776482582,0.0,0.0010000000474974513,0.5,2.0,4.0 f32[8]
// items: 8
// arg1: -0.9999999845827421 -0.8427007929497149 -0.011283415303662439 0.0 0.0011283788445643173 0.5204998778130465 0.9953222650189527 0.9999999845827421
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_erff(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = erff(x[i]);
}

// args: f64[8]=-4.0,-1.0,-0.01,0.0,0.001,0.5,2.0,4.0 f64[8]
// items: 8
// arg1: -0.9999999845827421 -0.8427007929497149 -0.011283415555849618 0.0 0.0011283787909692365 0.5204998778130465 0.9953222650189527 0.9999999845827421
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_erf(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = erf(x[i]);
}
