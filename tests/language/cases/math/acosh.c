// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0,1.0010000467300415,1.5,2.0,3.0,10.0,10000.0,999999986991104.0 f32[8]
// items: 8
// arg1: 0.0 0.0447186782504623 0.9624236501192069 1.3169578969248168 1.762747174039086 2.993222846126381 9.903487550036129 35.23192356246174
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_acoshf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acoshf(x[i]);
}

// args: f64[8]=1.0,1.001,1.5,2.0,3.0,10.0,10000.0,1000000000000000.0 f64[8]
// items: 8
// arg1: 0.0 0.04471763360830685 0.9624236501192069 1.3169578969248168 1.762747174039086 2.993222846126381 9.903487550036129 35.23192357547063
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_acosh(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acosh(x[i]);
}
