/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fake drivers run, compiled for real GPUs: see README.md. */
#include <gpuintrin.h>

typedef unsigned uint32_t;

static uint32_t item(void) {
  return __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
}

__gpu_kernel void saxpy(float a, __gpu_global const float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = item();
  if (i < n)
    y[i] += a * x[i];
}

__gpu_kernel void scale(float a, __gpu_global const float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = item();
  if (i < n)
    y[i] = a * x[i];
}

__gpu_kernel void place(__gpu_global uint32_t *out) {
  uint32_t x = __gpu_block_id(0), y = __gpu_block_id(1), z = __gpu_block_id(2);
  out[(z * __gpu_num_blocks(1) + y) * __gpu_num_blocks(0) + x] = x + 10 * y + 100 * z;
}

__attribute__((visibility("default"))) __gpu_global uint32_t weight = 3;

__gpu_kernel void weigh(__gpu_global uint32_t *out) {
  out[0] *= weight;
}

__attribute__((visibility("default"))) __gpu_global char table[64];

__gpu_kernel void empty(void) {}

typedef struct {
  float values[3];
} triple;

/* Its second parameter is aligned to less than its size. */
__gpu_kernel void sum(__gpu_global float *out, triple of, uint32_t n) {
  out[n] = of.values[0] + of.values[1] + of.values[2];
}

#ifdef __AMDGPU__
__attribute__((amdgpu_flat_work_group_size(1, 128))) __gpu_kernel void small(void) {}
#endif
