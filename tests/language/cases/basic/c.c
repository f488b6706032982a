// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C as its users write it.
#include <float.h>
#include <kdl/kernel.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

// char is signed, also where the machine's own compilers have it unsigned.
// args: i8[3]=-1,-128,127 i32[3]
// items: 3
// arg1: -1 -128 127
KDL_BLOCK(3)
__gpu_kernel void c_char(const __gpu_global char *x, __gpu_global int32_t *y) {
  uint32_t i = __gpu_thread_id(0);
  y[i] = x[i];
}

// args: i32[8]=iota i32[8] i32[8]
// items: 8
// arg1: 1 11 120 120 -1 5 -1 77
// arg2: 0 1 3 6 10 15 21 28
KDL_BLOCK(8)
__gpu_kernel void c_switch(const __gpu_global int32_t *x, __gpu_global int32_t *y,
                           __gpu_global int32_t *z) {
  uint32_t i = __gpu_thread_id(0);
  int r = 0;
  switch (x[i]) {
  case 0:
    r = 1;
    break;
  case 1:
    r = 11;
    break;
  case 2:
  case 3:
    r = 20;
    goto more;
  case 5:
    r = 5;
    break;
  case 7:
    r = 77;
    break;
  default:
    r = -1;
    break;
  more:
    r += 100;
    break;
  }
  y[i] = r;
  int sum = 0, n = x[i];
  switch (n % 4) { // a loop that is entered in the middle
    do {
    case 0:
      sum += n--;
      if (n < 0)
        break;
    case 3:
      sum += n--;
    case 2:
      sum += n--;
    case 1:
      sum += n--;
    } while (n > 0);
  }
  z[i] = sum;
}

typedef union {
  float f;
  uint32_t u;
  uint8_t b[4];
  struct {
    uint16_t low, high;
  } h;
} c_bits;

// args: f32[4]=1,-2,0.5,3 u32[4] u32[4]
// items: 4
// arg1: 1065353216 3221225472 1056964608 1077936128
// arg2: 16384 49152 16128 16512
KDL_BLOCK(4)
__gpu_kernel void c_union(const __gpu_global float *x, __gpu_global uint32_t *y,
                          __gpu_global uint32_t *z) {
  uint32_t i = __gpu_thread_id(0);
  c_bits b = {.f = x[i]};
  y[i] = b.u;
  z[i] = b.h.high + b.b[2];
}

typedef struct {
  int x, y, z[3];
} c_point;

static int c_total(c_point q) {
  return q.x + q.y + q.z[0] + q.z[1] + q.z[2];
}

// args: i32[2] i32[2] i32[2]
// items: 2
// arg0: 15 15
// arg1: 2 4
// arg2: 5 6
KDL_BLOCK(2)
__gpu_kernel void c_literals(__gpu_global int32_t *y, __gpu_global int32_t *z,
                             __gpu_global int32_t *names) {
  enum color { red, green = 5, blue };
  static const enum color colors[] = {green, blue};
  int i = (int)__gpu_thread_id(0);
  y[i] = c_total((c_point){.y = i, .x = 5 - i, .z = {[2] = 7, [0] = 3}});
  bool is_odd = i & 1;
  size_t size = sizeof(float) * (is_odd ? 3 : 2) / 4;
  z[i] = (int32_t)size + is_odd + (FLT_MAX < 1.0f) + (INT_MAX < 0);
  names[i] = (int32_t)colors[i];
}

typedef float c_four __attribute__((ext_vector_type(4)));

// args: f32[8]=iota f32[2] f32[8]
// items: 2
// arg1: 14 126
// arg2: 3 2 1 0 7 6 5 4
KDL_BLOCK(2)
__gpu_kernel void c_vector(const __gpu_global c_four *x, __gpu_global float *y,
                           __gpu_global c_four *z) {
  uint32_t i = __gpu_thread_id(0);
  c_four v = x[i], w = v * v;
  y[i] = w.x + w.y + w.z + w.w;
  z[i] = v.wzyx;
}

// args: f32[8]=iota f32[2] u32[2]=255,65536 u32[2]
// items: 2
// arg1: 6 22
// arg3: 1032 1015
KDL_BLOCK(2)
__gpu_kernel void c_rows(const __gpu_global float (*m)[4], __gpu_global float *y,
                         const __gpu_global uint32_t *u, __gpu_global uint32_t *v) {
  uint32_t i = __gpu_thread_id(0);
  float s = 0;
  for (int c = 0; c < 4; ++c)
    s += m[i][c];
  y[i] = s;
  v[i] = (uint32_t)(__builtin_popcount(u[i]) + __builtin_clz(u[i])) + 1000 - (i == 1);
}
