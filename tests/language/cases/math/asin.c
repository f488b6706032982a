// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-1.0,-0.75,-0.10000000149011612,0.0,9.999999747378752e-06,0.30000001192092896,0.8999999761581421,1.0 f32[8]
// items: 8
// arg1: -1.5707963267948966 -0.848062078981481 -0.10016742265918284 0.0 9.999999747545419e-06 0.3046926665119266 1.119769460301664 1.5707963267948966
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_asinf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = asinf(x[i]);
}

// args: f64[8]=-1.0,-0.75,-0.1,0.0,1e-05,0.3,0.9,1.0 f64[8]
// items: 8
// arg1: -1.5707963267948966 -0.848062078981481 -0.1001674211615598 0.0 1.0000000000166668e-05 0.3046926540153975 1.1197695149986342 1.5707963267948966
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_asin(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = asin(x[i]);
}
