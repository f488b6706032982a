// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-3.25,-0.4000000059604645,-0.125,0.0,0.20000000298023224,0.75,7.099999904632568,1000.2999877929688 f32[8]
// items: 8
// arg1: 0.7071067811865476 -0.9510565220816052 -0.3826834323650898 0.0 0.5877852598670369 0.7071067811865476 -0.3090167094330538 0.8089944524979377
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sinpif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sinpif(x[i]);
}

// args: f64[8]=-3.25,-0.4,-0.125,0.0,0.2,0.75,7.1,1000.3 f64[8]
// items: 8
// arg1: 0.7071067811865476 -0.9510565162951536 -0.3826834323650898 0.0 0.5877852522924731 0.7071067811865476 -0.30901699437494634 0.8090169943748634
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_sinpi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = sinpi(x[i]);
}
