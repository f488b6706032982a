/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl_exp of numbers by their bits: those from `first` on, `step` apart, of both signs in turn. */
#include <kdl/kernel.h>

KDL_BLOCK(64)
__gpu_kernel void exps(__gpu_global float *y, uint32_t first, uint32_t step, uint32_t n) {
  uint32_t i = __gpu_block_id(0) * __gpu_num_threads(0) + __gpu_thread_id(0);
  if (i < n)
    y[i] = kdl_exp(kdl_f32_bits((first + i / 2 * step) | i << 31));
}
