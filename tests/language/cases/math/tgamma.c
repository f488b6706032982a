// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=0.10000000149011612,0.5,1.0,1.75,2.5,4.0,7.5,20.0 f32[8]
// items: 8
// arg1: 9.513507550899174 1.772453850905516 1.0 0.9190625268488832 1.329340388179137 6.0 1871.2543057977884 1.21645100408832e+17
// ulp: 64
KDL_BLOCK(8)
__gpu_kernel void math_tgammaf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tgammaf(x[i]);
}

// args: f64[8]=0.1,0.5,1.0,1.75,2.5,4.0,7.5,20.0 f64[8]
// items: 8
// arg1: 9.51350769866873 1.772453850905516 1.0 0.9190625268488832 1.329340388179137 6.0 1871.2543057977884 1.21645100408832e+17
// ulp: 64
KDL_BLOCK(8)
__gpu_kernel void math_tgamma(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = tgamma(x[i]);
}
