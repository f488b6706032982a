// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: -1.2220253232109897 -0.7853981633974483 -0.3028848683749714 0.0 0.09966865396652452 0.6107259563885851 0.982793723247329 1.5208379310729538
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atanf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atanf(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: -1.2220253232109897 -0.7853981633974483 -0.3028848683749714 0.0 0.09966865249116204 0.6107259643892086 0.982793723247329 1.5208379310729538
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_atan(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = atan(x[i]);
}
