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

#endif
