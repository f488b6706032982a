// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <math.h>

// With -ffast-math the same names are the fast functions.
// args: f32[4]=0.5,1,2,10 f32[4] f32[4]
// items: 4
// arg1: 0.47942554 0.84147098 0.90929743 -0.54402111
// arg2: 0.70710678 1 1.41421356 3.16227766
// apart: 0.001
// flags: -ffast-math
KDL_BLOCK(4)
__gpu_kernel void math_fast(const __gpu_global float *x, __gpu_global float *sine,
                            __gpu_global float *root) {
  uint32_t i = __gpu_thread_id(0);
  sine[i] = sinf(x[i]);
  root[i] = sqrtf(x[i]);
}
