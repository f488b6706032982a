// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that are no numbers or very large ones end no program, and give what C says of the
// simplest functions.
#include <kdl/math/functions.h>
#include <math.h>

#define EDGES_1(name) sum += name##f(v) != 0.0f;
#define EDGES_2(name) sum += name##f(v, w) != 0.0f;
#define EDGES_INT(name) sum += name##f(v, (int)i - 4) != 0.0f;

// args: f32[8]=0,-0,inf,-inf,nan,3e38,-3e38,1e-45 f32[8] u32[8] u32=1000
// items: 8
// arg1: 0 0 inf inf nan 3e38 3e38 1e-45
// arg2: 1
KDL_BLOCK(8)
__gpu_kernel void math_edgesf(const __gpu_global float *x, __gpu_global float *size,
                              __gpu_global uint32_t *ran, uint32_t limit) {
  uint32_t i = __gpu_thread_id(0), sum = 0;
  float v = x[i], w = x[(i + 3) % 8];
  KDL_MATH_EACH_1(EDGES_1)
  KDL_MATH_EACH_2(EDGES_2)
  KDL_MATH_EACH_INT(EDGES_INT)
  size[i] = fabsf(v);
  ran[i] = sum < limit;
}

#define EDGES_D1(name) sum += name(v) != 0.0;
#define EDGES_D2(name) sum += name(v, w) != 0.0;
#define EDGES_DINT(name) sum += name(v, (int)i - 4) != 0.0;

// args: f64[8]=0,-0,inf,-inf,nan,1e300,-1e308,5e-324 f64[8] u32[8] u32=1000
// items: 8
// arg1: 0 0 inf inf nan 1e300 1e308 5e-324
// arg2: 1
KDL_BLOCK(8)
__gpu_kernel void math_edges(const __gpu_global double *x, __gpu_global double *size,
                             __gpu_global uint32_t *ran, uint32_t limit) {
  uint32_t i = __gpu_thread_id(0), sum = 0;
  double v = x[i], w = x[(i + 3) % 8];
  KDL_MATH_EACH_1(EDGES_D1)
  KDL_MATH_EACH_2(EDGES_D2)
  KDL_MATH_EACH_INT(EDGES_DINT)
  size[i] = fabs(v);
  ran[i] = sum < limit;
}
