// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables, parameters and members may have the names of functions of double.
#include <math.h>

typedef struct {
  float exp, log;
} math_names_pair;

static float math_names_helper(float exp) {
  math_names_pair pair = {exp, 1.0f};
  float log = logf(pair.exp);
  return log + pair.log;
}

// args: f32[4]=1,2,4,8 f32=0.5 f32[4]
// items: 4
// arg2: 1.8414710 2.6024446 1.6294919 4.0687998
// apart: 1e-5
KDL_BLOCK(4)
__gpu_kernel void math_names(const __gpu_global float *x, float cos, __gpu_global float *y) {
  uint32_t i = __gpu_thread_id(0);
  float sin = sinf(x[i]);
  float round = roundf(cos * 0.25f);
  y[i] = sin + math_names_helper(x[i]) + round;
}
