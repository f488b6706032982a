// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f32[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f32[8]
// items: 8
// arg2: -2.999999761581421 -0.4999999701976776 0.2499999850988388 1.0 1.9999998807907104 5.499999523162842 9.999999046325684 99999.9921875
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_nextafterf(
    const __gpu_global float *x,
    const __gpu_global float *y,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = nextafterf(x[i], y[i]);
}

// args: f64[8]=-3.0,-0.5,0.25,1.0,2.0,5.5,10.0,100000.0 f64[8]=2.0,3.0,-1.5,1.0,0.5,-2.25,3.0,7.0 f64[8]
// items: 8
// arg2: -2.9999999999999996 -0.49999999999999994 0.24999999999999997 1.0 1.9999999999999998 5.499999999999999 9.999999999999998 99999.99999999999
// ulp: 0
KDL_BLOCK(8)
__gpu_kernel void math_nextafter(
    const __gpu_global double *x,
    const __gpu_global double *y,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = nextafter(x[i], y[i]);
}
