// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=3.0,-0.5,0.25,1.0,2.0,-5.5,10.0,100000.0 i32[8]=2,3,-3,5,4,7,-1,3 f32[8]
// items: 8
// arg2: 1.7320508075688772 -0.7937005259840998 1.5874010519681996 1.0 1.189207115002721 -1.275751531904173 0.1 46.415888336127786
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_rootnf(
    const __gpu_global float *x,
    const __gpu_global int *n,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = rootnf(x[i], n[i]);
}

// args: f64[8]=3.0,-0.5,0.25,1.0,2.0,-5.5,10.0,100000.0 i32[8]=2,3,-3,5,4,7,-1,3 f64[8]
// items: 8
// arg2: 1.7320508075688772 -0.7937005259840998 1.5874010519681996 1.0 1.189207115002721 -1.275751531904173 0.1 46.415888336127786
// ulp: 16
KDL_BLOCK(8)
__gpu_kernel void math_rootn(
    const __gpu_global double *x,
    const __gpu_global int *n,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = rootn(x[i], n[i]);
}
