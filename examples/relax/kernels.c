/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A rod whose ends keep their temperature: one step, and whether the last one still moved it. */
#include <stdint.h>

#if defined(__NVPTX__) || defined(__AMDGPU__) || defined(__SPIRV__)

#include <gpuintrin.h>

__gpu_kernel void step(const __gpu_global float *from, __gpu_global float *to, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i > 0 && i + 1 < n)
    to[i] = (from[i - 1] + from[i + 1]) / 2;
}

__gpu_kernel void moves(const __gpu_global float *before, const __gpu_global float *after,
                        __gpu_global uint32_t *out_moves, float least, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n && (after[i] - before[i] > least || before[i] - after[i] > least))
    *out_moves = 1;
}

#else

#include <kdl/kernel.h>

KDL_KERNEL(step, (256, 1, 1), (256, 1, 1), (const float *restrict, from), (float *restrict, to),
           (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i) {
    if (i > 0 && i + 1 < n)
      to[i] = (from[i - 1] + from[i + 1]) / 2;
  }
}

KDL_KERNEL(moves, (256, 1, 1), (256, 1, 1), (const float *restrict, before),
           (const float *restrict, after), (uint32_t *restrict, out_moves), (float, least),
           (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i) {
    if (after[i] - before[i] > least || before[i] - after[i] > least)
      __atomic_store_n(out_moves, 1, __ATOMIC_RELAXED); /* groups run in parallel */
  }
}

#endif
