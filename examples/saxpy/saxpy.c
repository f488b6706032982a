/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* y = a x + y, once for every kind of machine: on a GPU each thread does one element, on a CPU each
 * call does a group of them, and the loop is the compiler's to vectorise. */
#include <stdint.h>

#if defined(__NVPTX__) || defined(__AMDGPU__) || defined(__SPIRV__)

#include <gpuintrin.h>

__gpu_kernel void saxpy(float a, const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] += a * x[i];
}

#else

#include <kdl/kernel.h>

KDL_KERNEL(saxpy, (1024, 1, 1), (1024, 1, 1), (float, a), (const float *restrict, x),
           (float *restrict, y), (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i)
    y[i] += a * x[i];
}

#endif
