// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.25,-0.4000000059604645,-0.125,0.0,0.20000000298023224,0.699999988079071,7.099999904632568,100.30000305175781 f32[8]
// items: 8
// arg1: -1.0 -3.0776837332696907 -0.41421356237309503 0.0 0.7265425423102566 -1.3763820288695117 0.3249193649971088 1.3764096708105082
// ulp: 6
KDL_BLOCK(8)
__gpu_kernel void math_tanpif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tanpif(x[i]);
}

// args: f64[8]=-3.25,-0.4,-0.125,0.0,0.2,0.7,7.1,100.3 f64[8]
// items: 8
// arg1: -1.0 -3.077683537175254 -0.41421356237309503 0.0 0.7265425280053609 -1.376381920471174 0.3249196962329051 1.3763819204711476
// ulp: 6
KDL_BLOCK(8)
__gpu_kernel void math_tanpi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tanpi(x[i]);
}
