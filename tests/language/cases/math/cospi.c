// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.25,-0.4000000059604645,-0.125,0.0,0.20000000298023224,0.75,7.099999904632568,1000.2999877929688 f32[8]
// items: 8
// arg1: -0.7071067811865476 0.3090169765660799 0.9238795325112867 1.0 0.8090169888717047 -0.7071067811865476 -0.9510566088783399 0.5878162772734029
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_cospif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cospif(x[i]);
}

// args: f64[8]=-3.25,-0.4,-0.125,0.0,0.2,0.75,7.1,1000.3 f64[8]
// items: 8
// arg1: -0.7071067811865476 0.30901699437494734 0.9238795325112867 1.0 0.8090169943749475 -0.7071067811865476 -0.9510565162951539 0.5877852522925887
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_cospi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = cospi(x[i]);
}
