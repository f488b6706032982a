/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A function that may use more than its CPU's name says. */
#include <kdl/kernel.h>

#if defined(__x86_64__)
__attribute__((target("avx512bf16,gfni"), noinline)) static float use(float x) {
  return x + 1;
}
#else
static float use(float x) {
  return x + 1;
}
#endif

KDL_BLOCK(64) __gpu_kernel void target(__gpu_global float *y) {
  y[0] = use(y[0]);
}
