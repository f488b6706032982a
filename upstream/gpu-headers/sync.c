// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A word of group memory is written before a barrier, and one that another work-item wrote is read behind it.
#include <gpuintrin.h>
static __gpu_local unsigned words[256] __attribute__((loader_uninitialized));
__gpu_kernel void k(__gpu_global unsigned *out) {
  unsigned i = __gpu_thread_id(0);
  words[i] = i;
  __gpu_sync_threads();
  out[i] = words[255 - i];
}
