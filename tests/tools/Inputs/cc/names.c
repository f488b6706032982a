/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels with the names of functions of libc and libm, and of what kdl cc could declare beside
 * them. */
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void exp(const __gpu_global float *x, __gpu_global float *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = kdl_exp(x[i]);
}

#define NAMED(name, number)                                                                        \
  KDL_BLOCK(2)                                                                                     \
  __gpu_kernel void name(__gpu_global uint32_t *y) {                                               \
    y[__gpu_thread_id(0)] = number;                                                                \
  }
NAMED(read, 1)
NAMED(write, 2)
NAMED(log, 3)
NAMED(pow, 4)
NAMED(index, 5)
NAMED(time, 6)
NAMED(select, 7)
NAMED(malloc, 8)
NAMED(abort, 9)
NAMED(group, 10)
NAMED(args, 11)
NAMED(i0, 12)
NAMED(p0, 13)

KDL_BLOCK(2)
__gpu_kernel void is_whole(__gpu_global uint32_t *y, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = 14;
}
