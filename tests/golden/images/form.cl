// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The form of portable images, near enough to OpenCL C that any Clang writes it: README.md.
uint kdl_p1_thread_id(int dim);
uint kdl_p1_block_id(int dim);
void kdl_p1_sync_threads(void) __attribute__((convergent));
float kdl_math_sqrtf(float x);
typedef struct {
  float by;
  int from[3];
} factors;

int sum(const int *p, int n) {
  int all = 0;
  for (int i = 0; i < n; ++i)
    all += p[i];
  return all;
}

__kernel void reverse(__global uint *x) {
  __local uint held[8];
  uint t = kdl_p1_thread_id(0);
  held[t] = x[kdl_p1_block_id(0) * 8 + t];
  kdl_p1_sync_threads();
  x[kdl_p1_block_id(0) * 8 + t] = held[7 - t];
}

__kernel void mix(factors f, __global float *x) {
  uint t = kdl_p1_thread_id(0);
  int own[4] = {1, 2, 3, 4};
  x[t] = kdl_math_sqrtf(x[t]) * f.by + (float)sum(own, (int)(t % 4) + 1) + (float)f.from[t % 3];
}
