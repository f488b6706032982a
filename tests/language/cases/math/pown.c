// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.0,-0.5,0.25,1.0,2.0,1.5,10.0,100.0 i32[8]=2,3,-3,5,4,7,-1,3 f32[8]
// items: 8
// arg2: 9.0 -0.125 64.0 1.0 16.0 17.0859375 0.1 1000000.0
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_pownf(
    const __gpu_global float *x,
    const __gpu_global int *n,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = pownf(x[i], n[i]);
}

// args: f64[8]=-3.0,-0.5,0.25,1.0,2.0,1.5,10.0,100.0 i32[8]=2,3,-3,5,4,7,-1,3 f64[8]
// items: 8
// arg2: 9.0 -0.125 64.0 1.0 16.0 17.0859375 0.1 1000000.0
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_pown(
    const __gpu_global double *x,
    const __gpu_global int *n,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = pown(x[i], n[i]);
}
