/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* y[r] is row r of a times b, in integers: one subgroup a row, whose lanes take turns and leave the
 * sum over the subgroup to a microkernel. A group is one subgroup, the depth a multiple of its
 * size.
 */
#include <gpuintrin.h>
#include <kdl/ukernels.h>

KDL_CONSTANT(int32_t, depth, 256);

__gpu_kernel void rows_i32(const __gpu_global int32_t *a, const __gpu_global int32_t *b,
                           __gpu_global int32_t *y) {
  uint32_t row = __gpu_block_id_x();
  uint32_t lane = __gpu_lane_id();
  uint32_t lanes = __gpu_num_lanes();
  const __gpu_global int32_t *mine = a + (uint64_t)row * (uint32_t)kdl_const_depth;
  int32_t sum = 0;
  for (uint32_t turn = 0; turn < (uint32_t)kdl_const_depth / lanes; ++turn)
    sum += mine[turn * lanes + lane] * b[turn * lanes + lane];
  sum = kdl_uk_subgroup_sum_i32(sum);
  if (lane == 0)
    y[row] = sum;
}
