// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-0.8999999761581421,-0.10000000149011612,-9.999999747378752e-05,0.0,9.999999747378752e-06,0.5,3.0,10000000000.0 f32[8]
// items: 8
// arg1: -2.302584854575495 -0.10536051731351088 -0.00010000499780689321 0.0 9.999949747714609e-06 0.4054651081081644 1.3862943611198906 23.025850930040455
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_log1pf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log1pf(x[i]);
}

// args: f64[8]=-0.9,-0.1,-0.0001,0.0,1e-05,0.5,3.0,10000000000.0 f64[8]
// items: 8
// arg1: -2.302585092994046 -0.10536051565782631 -0.00010000500033335834 0.0 9.999950000333332e-06 0.4054651081081644 1.3862943611198906 23.025850930040455
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void math_log1p(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = log1p(x[i]);
}
