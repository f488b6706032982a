/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts in group memory, and adds by one store; the last one counts in global memory. */
#include <kdl/kernel.h>

#define COUNT(name, threads)                                                                       \
  KDL_BLOCK(threads)                                                                               \
  __gpu_kernel void name(__gpu_global uint32_t *counts, uint32_t n) {                              \
    KDL_LOCAL(uint32_t, own[8]);                                                                   \
    uint32_t first = __gpu_thread_id(0), step = __gpu_num_threads(0);                              \
    for (uint32_t i = first; i < 8; i += step)                                                     \
      own[i] = 0;                                                                                  \
    __gpu_sync_threads();                                                                          \
    for (uint32_t i = first; i < n; i += step)                                                     \
      kdl_atomic_add(&own[i % 8], 1);                                                              \
    __gpu_sync_threads();                                                                          \
    if (first == 0)                                                                                \
      counts[__gpu_block_id(0)] = own[3];                                                          \
  }

COUNT(local_one, 1)
COUNT(local_many, 64)

KDL_BLOCK(1)
__gpu_kernel void shared_one(__gpu_global uint32_t *counts) {
  kdl_atomic_add(counts, 1);
}
