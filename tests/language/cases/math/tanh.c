// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-4.0,-1.0,-0.009999999776482582,0.0,0.0010000000474974513,0.5,2.0,4.0 f32[8]
// items: 8
// arg1: -0.999329299739067 -0.7615941559557649 -0.009999666456504392 0.0 0.0009999997141642038 0.46211715726000974 0.9640275800758169 0.999329299739067
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_tanhf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tanhf(x[i]);
}

// args: f64[8]=-4.0,-1.0,-0.01,0.0,0.001,0.5,2.0,4.0 f64[8]
// items: 8
// arg1: -0.999329299739067 -0.7615941559557649 -0.00999966667999946 0.0 0.0009999996666668 0.46211715726000974 0.9640275800758169 0.999329299739067
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_tanh(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tanh(x[i]);
}
