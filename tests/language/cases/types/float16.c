// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <math.h>

// args: f16[8]=-3,-0.5,0,0.25,1,2.5,10,1000 f16=2 f16[8] f32[8] i32[8]
// items: 8
// arg2: -5 0 1 1.5 3 6 21 2001
// arg3: 9 0.25 0 0.0625 1 6.25 100 inf
// arg4: -3 0 0 0 1 2 10 1000
KDL_BLOCK(8)
__gpu_kernel void types_f16(const __gpu_global _Float16 *x, _Float16 k, __gpu_global _Float16 *y,
                            __gpu_global float *z, __gpu_global int32_t *whole) {
  uint32_t i = __gpu_thread_id(0);
  _Float16 one = (_Float16)1;
  y[i] = x[i] * k + one;
  _Float16 square = x[i] * x[i];
  z[i] = (float)square;
  whole[i] = (int32_t)x[i];
}

// args: f16[8]=-3,-0.5,0,0.25,1,2.5,10,100 f16[8] f16[8]
// items: 8
// arg1: -0.14111328125 -0.4794921875 0 0.24743652343750 0.84130859375 0.59863281250 -0.5439453125 -0.50634765625
// arg2: 0.0498046875 0.60644531250 1 1.2841796875 2.71875 12.1796875 22032 inf
// ulp: 2
KDL_BLOCK(8)
__gpu_kernel void types_f16_math(const __gpu_global _Float16 *x, __gpu_global _Float16 *sine,
                                 __gpu_global _Float16 *power) {
  uint32_t i = __gpu_thread_id(0);
  sine[i] = sinf16(x[i]);
  power[i] = expf16(x[i]);
}

// args: f32[4]=1,2,3,4 f16[4] f16[4]=7
// items: 4
// arg1: 1 0.5 0.333251953125 0.25
// arg2: 0 1 0 1
KDL_BLOCK(4)
__gpu_kernel void types_f16_compare(const __gpu_global float *x, __gpu_global _Float16 *y,
                                    __gpu_global _Float16 *even) {
  uint32_t i = __gpu_thread_id(0);
  _Float16 h = (_Float16)x[i];
  y[i] = (_Float16)1 / h;
  even[i] = h == (_Float16)2 || h > (_Float16)3 ? (_Float16)1 : (_Float16)0;
}
