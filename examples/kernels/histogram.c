/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How often each byte occurs, added to 256 bins: a group counts its tile in its own memory, and
 * then adds what it counted. */
#include <kdl/kernel.h>

enum { threads = KDL_THREADS(256), tile = 8192, bins = 256 };

KDL_BLOCK(threads)
KDL_TILE(tile)
__gpu_kernel void histogram(const __gpu_global uint8_t *data, __gpu_global uint32_t *counts,
                            uint32_t n) {
  KDL_LOCAL(uint32_t, own[bins]);
  uint32_t first = __gpu_thread_id(0), step = __gpu_num_threads(0);
  uint32_t begin = __gpu_block_id(0) * tile;
  uint32_t end = n - begin < tile ? n : begin + tile;
  for (uint32_t i = first; i < bins; i += step)
    own[i] = 0;
  __gpu_sync_threads();
  for (uint32_t i = begin + first; i < end; i += step)
    kdl_atomic_add(&own[data[i]], 1);
  __gpu_sync_threads();
  for (uint32_t i = first; i < bins; i += step) {
    if (own[i])
      kdl_atomic_add(&counts[i], own[i]);
  }
}
