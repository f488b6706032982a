// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.5,-1.5,-0.4000000059604645,0.0,0.5,0.6000000238418579,1.5,1048576.25 f32[8]
// items: 8
// arg1: -3.0 -2.0 -1.0 0.0 0.0 0.0 1.0 1048576.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_floorf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = floorf(x[i]);
}

// args: f64[8]=-2.5,-1.5,-0.4,0.0,0.5,0.6,1.5,1048576.25 f64[8]
// items: 8
// arg1: -3.0 -2.0 -1.0 0.0 0.0 0.0 1.0 1048576.0
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_floor(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = floor(x[i]);
}
