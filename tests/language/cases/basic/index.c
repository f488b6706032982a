// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kdl/kernel.h>

// args: u32[8] u32=6
// items: 8
// block: 4
// arg0: 1 11 21 31 41 51 0 0
__gpu_kernel void basic_index(__gpu_global uint32_t *out, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    out[i] = 10 * i + 1;
}

// args: u32[24]
// grid: 2 3 1
// block: 2 1 2
// arg0: 0 10 100 110 1000 1010 1100 1110 2000 2010 2100 2110
// arg0: 1 11 101 111 1001 1011 1101 1111 2001 2011 2101 2111
__gpu_kernel void basic_grid_3d(__gpu_global uint32_t *out) {
  uint32_t x = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  uint32_t y = __gpu_block_id(1), z = __gpu_thread_id(2);
  uint32_t width = __gpu_num_blocks(0) * __gpu_num_threads(0);
  out[(z * __gpu_num_blocks(1) + y) * width + x] =
      __gpu_block_id(1) * 1000 + __gpu_block_id(0) * 100 + __gpu_thread_id(0) * 10 + z;
}
