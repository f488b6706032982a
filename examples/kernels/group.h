/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sums and maxima over a group, for kernels that go through their tile in steps of
 * __gpu_num_threads. `scratch` has room for a float of each thread, whose number is a power of two.
 * With one thread, as on the CPU, nothing is left of them.
 */
#ifndef EXAMPLES_KERNELS_GROUP_H
#define EXAMPLES_KERNELS_GROUP_H

#include <kdl/kernel.h>

/* Halves what is left until one value is, which every thread gets. */
#define GROUP_COMBINE(name, combine)                                                               \
  static inline float name(__gpu_local float *scratch, float value) {                              \
    uint32_t thread = __gpu_thread_id(0);                                                          \
    scratch[thread] = value;                                                                       \
    __gpu_sync_threads();                                                                          \
    for (uint32_t left = __gpu_num_threads(0) / 2; left > 0; left /= 2) {                          \
      if (thread < left)                                                                           \
        scratch[thread] = combine(scratch[thread], scratch[thread + left]);                        \
      __gpu_sync_threads();                                                                        \
    }                                                                                              \
    float result = scratch[0];                                                                     \
    __gpu_sync_threads(); /* before the scratch is used again */                                   \
    return result;                                                                                 \
  }

static inline float group_add(float a, float b) {
  return a + b;
}

GROUP_COMBINE(group_sum, group_add)
GROUP_COMBINE(group_max, kdl_max)

#endif
