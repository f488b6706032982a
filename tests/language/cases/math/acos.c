// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// make_math.py
#include <math.h>

// args: f32[8]=-1.0,-0.75,-0.10000000149011612,0.0,9.999999747378752e-06,0.30000001192092896,0.8999999761581421,1.0 f32[8]
// items: 8
// arg1: 3.141592653589793 2.4188584057763776 1.6709637494540794 1.5707963267948966 1.5707863267951492 1.26610366028297 0.45102686649323265 0.0
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_acosf(
    const __gpu_global float *x,
    __gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acosf(x[i]);
}

// args: f64[8]=-1.0,-0.75,-0.1,0.0,1e-05,0.3,0.9,1.0 f64[8]
// items: 8
// arg1: 3.141592653589793 2.4188584057763776 1.6709637479564565 1.5707963267948966 1.5707863267948965 1.2661036727794992 0.45102681179626236 0.0
// ulp: 4
KDL_BLOCK(8)
__gpu_kernel void math_acos(
    const __gpu_global double *x,
    __gpu_global double *out) {
  uint32_t i = __gpu_thread_id(0);
  out[i] = acos(x[i]);
}
