/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A quadratic function of each number, by coefficients in constant memory. */
#include <gpuintrin.h>
#include <stdint.h>

__gpu_constant float coefficients[3];

__gpu_kernel void curve(__gpu_global float *x, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    x[i] = coefficients[0] + (coefficients[1] + coefficients[2] * x[i]) * x[i];
}
