/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels whose time over the number of threads is measured: one reads and writes memory, one reads
 * its neighbours' elements, one computes. plain.c has the same loops. */
#include <kdl/kernel.h>

enum { steps = 64 };

typedef const __gpu_global float *in;
typedef __gpu_global float *out;

#define INDEX (__gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0))

KDL_BLOCK(1024)
__gpu_kernel void triad(in x, in y, out z, uint32_t n) {
  uint32_t i = INDEX;
  if (i < n)
    z[i] = x[i] + 2.0f * y[i];
}

/* x has an element more at both ends. */
KDL_BLOCK(1024)
__gpu_kernel void stencil(in x, out y, uint32_t n) {
  uint32_t i = INDEX;
  if (i < n)
    y[i] = 0.25f * (x[i] + 2.0f * x[i + 1] + x[i + 2]);
}

/* The sum of powers of 1/2 times a number: twice the number after some steps. */
KDL_BLOCK(1024)
__gpu_kernel void compute(in x, out y, uint32_t n) {
  uint32_t i = INDEX;
  if (i >= n)
    return;
  float start = x[i], value = start;
  for (uint32_t step = 0; step < steps; ++step)
    value = value * 0.5f + start;
  y[i] = value;
}
