/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* GPUs, by exchanges between lanes. */
#include <kdl/ukernels.h>

#include <gpuintrin.h>

int32_t kdl_uk_subgroup_sum_i32(int32_t value) {
  uint64_t mask = __gpu_lane_mask();
  uint32_t sum = (uint32_t)value;
  for (uint32_t step = __gpu_num_lanes() / 2; step > 0; step /= 2)
    sum += __gpu_shuffle_idx_u32(mask, __gpu_lane_id() ^ step, sum, __gpu_num_lanes());
  return (int32_t)sum;
}
