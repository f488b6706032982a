// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-2.75,-1.0,-0.3125,0.0,0.10000000149011612,0.699999988079071,1.5,20.0 f32[8]
// items: 8
// arg1: 0.06392786120670757 0.36787944117144233 0.7316156289466418 1.0 1.1051709197224806 2.0137526834646735 4.4816890703380645 485165195.4097903
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_expf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = expf(x[i]);
}

// args: f64[8]=-2.75,-1.0,-0.3125,0.0,0.1,0.7,1.5,20.0 f64[8]
// items: 8
// arg1: 0.06392786120670757 0.36787944117144233 0.7316156289466418 1.0 1.1051709180756477 2.0137527074704766 4.4816890703380645 485165195.4097903
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_exp(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = exp(x[i]);
}
