// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=1.0000000031710769e-30,0.0010000000474974513,0.5,1.0,1.100000023841858,2.0,123.5,1.0000000150474662e+30 f32[8]
// items: 8
// arg1: -29.99999999862282 -2.9999999793721193 -0.3010299956639812 0.0 0.04139269457130433 0.3010299956639812 2.0916669575956846 30.000000006535032
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_log10f(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log10f(x[i]);
}

// args: f64[8]=1e-30,0.001,0.5,1.0,1.1,2.0,123.5,1e+30 f64[8]
// items: 8
// arg1: -30.0 -3.0 -0.3010299956639812 0.0 0.04139268515822508 0.3010299956639812 2.0916669575956846 30.0
// ulp: 3
KDL_BLOCK(8)
__gpu_kernel void math_log10(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log10(x[i]);
}
