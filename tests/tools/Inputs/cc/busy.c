/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A kernel with barriers and one without, each group of which takes some microseconds. */
#include <kdl/kernel.h>

enum { items = 64, rounds = 20 };

KDL_BLOCK(64)
__gpu_kernel void waits(__gpu_global float *out) {
  KDL_LOCAL(float, shared[items]);
  uint32_t i = __gpu_thread_id(0);
  shared[i] = (float)i;
  for (int round = 0; round < rounds; ++round) {
    __gpu_sync_threads();
    float other = shared[(i + 1) % items];
    __gpu_sync_threads();
    shared[i] += other;
  }
  if (shared[i] < 0)
    out[0] = shared[i];
}

KDL_BLOCK(64)
__gpu_kernel void plain(__gpu_global float *out) {
  float sum = (float)__gpu_thread_id(0);
  for (int round = 0; round < rounds * 20; ++round)
    sum = sum * 0.5f + (float)round;
  if (sum < 0)
    out[0] = sum;
}

/* In place of the kernel that tests/golden/sequence/steps.offload launches. */
KDL_BLOCK(1024)
__gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  float sum = (float)__gpu_thread_id(0);
  for (int round = 0; round < rounds * 20; ++round)
    sum = sum * 0.5f + a;
  if (sum < 0 && n)
    y[0] = sum + x[0];
}
