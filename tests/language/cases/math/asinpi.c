// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-1.0,-0.75,-0.10000000149011612,0.0,9.999999747378752e-06,0.30000001192092896,0.8999999761581421,1.0 f32[8]
// items: 8
// arg1: -0.5 -0.2699465438373841 -0.03188428090596815 0.0 3.1830987814791176e-06 0.09698668799844704 0.35643368946070736 0.5
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_asinpif(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = asinpif(x[i]);
}

// args: f64[8]=-1.0,-0.75,-0.1,0.0,1e-05,0.3,0.9,1.0 f64[8]
// items: 8
// arg1: -0.5 -0.2699465438373841 -0.03188428042925993 0.0 3.1830988618909584e-06 0.09698668402067828 0.3564337068712937 0.5
// ulp: 5
KDL_BLOCK(8)
__gpu_kernel void math_asinpi(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = asinpi(x[i]);
}
