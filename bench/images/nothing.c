/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cheapest kernel there is, for every kind of machine: it takes a pointer and does nothing, so
 * that what is measured is the way to it. */
#if defined(__NVPTX__) || defined(__AMDGPU__) || defined(__SPIRV__)

#include <gpuintrin.h>

__gpu_kernel void nothing(__gpu_global char *unused) {
  (void)unused;
}

#else

#include <kdl/kernel.h>

KDL_KERNEL(nothing, (1, 1, 1), (1, 1, 1), (char *, unused)) {
  (void)kdl_group;
  (void)unused;
}

/* A kernel that works, for sequences on the host. */
KDL_KERNEL(accumulate, (256, 1, 1), (256, 1, 1), (float, a), (const float *restrict, x),
           (float *restrict, y), (uint32_t, n)) {
  uint64_t end = kdl_group_end(kdl_group, 0, n);
  for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i)
    y[i] += a * x[i];
}

#endif
