// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions with the names of OpenCL C's, which compute something else.
#include <kdl/kernel.h>

static float clamp(float x, float y);

struct pair {
  float length, distance;
};

static float step(struct pair p) {
  return p.length + 10.0f * clamp(p.distance, 1.0f);
}

static float clamp(float x, float y) {
  return x > y ? x : y + 2.0f;
}

static uint32_t rotate(uint32_t x) {
  return x ^ 1;
}

// args: f32[2]
// items: 2
// arg0: 30 51
KDL_BLOCK(2)
__gpu_kernel void own_functions(__gpu_global float *out) {
  uint32_t i = __gpu_thread_id(0);
  struct pair p = {(float)i, (float)i * 5.0f};
  out[rotate(rotate(i))] = step(p);
}
