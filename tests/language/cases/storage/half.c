// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kdl/kernel.h>

// Ties go to even, the largest overflows, subnormals are kept.
// args: f32[8]=1.5,2049,2051,65519,65520,-6e-8,3.1e-5,1e-9 f16[8] f32[8]
// items: 8
// arg1: 1.5 2048 2052 65504 inf -5.9604644775390625e-08 3.0994415283203125e-05 0
// arg2: 1.5 2048 2052 65504 inf -5.9604644775390625e-08 3.0994415283203125e-05 0
KDL_BLOCK(8)
__gpu_kernel void storage_kdl_half(const __gpu_global float *x, __gpu_global kdl_half *h,
                                 __gpu_global float *y) {
  uint32_t i = __gpu_thread_id(0);
  kdl_half narrow = kdl_float_half(x[i]);
  h[i] = narrow;
  y[i] = kdl_half_float(narrow);
}

// args: f32[8]=1.5,257,259,3.3961775e38,-1e-40,0.1,-nan,inf bf16[8] f32[8]
// items: 8
// arg1: 1.5 256 260 inf -9.1835496157991212e-41 0.10009765625 nan inf
// arg2: 1.5 256 260 inf -9.1835496157991212e-41 0.10009765625 nan inf
KDL_BLOCK(8)
__gpu_kernel void storage_kdl_bf16(const __gpu_global float *x, __gpu_global kdl_bf16 *b,
                                 __gpu_global float *y) {
  uint32_t i = __gpu_thread_id(0);
  kdl_bf16 narrow = kdl_float_bf16(x[i]);
  b[i] = narrow;
  y[i] = kdl_bf16_float(narrow);
}
