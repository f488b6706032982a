// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Subgroups of any size: what is written does not depend on it. On CPUs and in OpenCL C it is 1. The
// groups have 40 work-items, so that the last subgroup of a device is not full.
#include <kdl/kernel.h>

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_ids(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lane = __gpu_lane_id(), lanes = __gpu_num_lanes();
  uint64_t mask = __gpu_lane_mask();
  out[t] = lane == t % lanes && lane < lanes && (mask >> lane & 1) != 0 && __gpu_first_lane_id(mask) == 0;
}

// args: u32[1]
// items: 40
// not: spirv64
// arg0: 40
KDL_BLOCK(40)
__gpu_kernel void lanes_first(__gpu_global uint32_t *out) {
  uint64_t mask = __gpu_lane_mask();
  uint32_t count = 0;
  for (uint64_t left = mask; left; left &= left - 1)
    ++count;
  if (__gpu_is_first_in_lane(mask)) /* one of each subgroup */
    kdl_atomic_add(&out[0], count);
}

// args: u32[1]
// items: 40
// not: spirv64
// arg0: 14
KDL_BLOCK(40)
__gpu_kernel void lanes_ballot(__gpu_global uint32_t *out) {
  uint64_t mask = __gpu_lane_mask(), ballot = __gpu_ballot(mask, __gpu_thread_id(0) % 3 == 0);
  uint32_t count = 0;
  for (uint64_t left = ballot; left; left &= left - 1)
    ++count;
  if (__gpu_is_first_in_lane(mask))
    kdl_atomic_add(&out[0], count);
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_shuffle_u32(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lanes = __gpu_num_lanes(), base = t - t % lanes;
  uint32_t last = 40 - base < lanes ? 40 - base - 1 : lanes - 1;
  uint32_t from = last - __gpu_lane_id();
  out[t] = __gpu_shuffle_idx_u32(__gpu_lane_mask(), from, t * 7, lanes) == (base + from) * 7;
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_shuffle_u64(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lanes = __gpu_num_lanes(), base = t - t % lanes;
  uint32_t last = 40 - base < lanes ? 40 - base - 1 : lanes - 1;
  uint32_t from = last - __gpu_lane_id();
  uint64_t x = (uint64_t)t * ((uint64_t)0x100000007);
  out[t] = __gpu_shuffle_idx_u64(__gpu_lane_mask(), from, x, lanes) == (uint64_t)(base + from) * ((uint64_t)0x100000007);
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_shuffle_f32(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lanes = __gpu_num_lanes(), base = t - t % lanes;
  uint64_t mask = __gpu_lane_mask();
  float x = (float)t + 0.5f;
  out[t] = __gpu_shuffle_idx_f32(mask, 0, x, lanes) == (float)base + 0.5f &&
           __gpu_read_first_lane_f32(mask, x) == (float)base + 0.5f &&
           __gpu_read_first_lane_u32(mask, t) == base &&
           __gpu_read_first_lane_u64(mask, (uint64_t)t << 33) == (uint64_t)base << 33;
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_scan_u32(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lane = __gpu_lane_id(), base = t - lane;
  uint32_t expected = (lane + 1) * (base + 1) + lane * (lane + 1) / 2;
  out[t] = __gpu_lane_scan_u32(__gpu_lane_mask(), t + 1) == expected;
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_scan_u64(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lane = __gpu_lane_id(), base = t - lane;
  uint64_t expected = (uint64_t)((lane + 1) * (base + 1) + lane * (lane + 1) / 2) << 32;
  out[t] = __gpu_lane_scan_u64(__gpu_lane_mask(), (uint64_t)(t + 1) << 32) == expected;
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_scan_f32(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lane = __gpu_lane_id(), base = t - lane;
  float expected = 0.25f * (float)((lane + 1) * (base + 1) + lane * (lane + 1) / 2);
  out[t] = __gpu_lane_scan_f32(__gpu_lane_mask(), 0.25f * (float)(t + 1)) == expected;
}

// args: u32[1] f32[1]
// items: 40
// not: spirv64
// arg0: 820
// arg1: 205
KDL_BLOCK(40)
__gpu_kernel void lanes_sum(__gpu_global uint32_t *out, __gpu_global float *y) {
  uint32_t t = __gpu_thread_id(0);
  uint64_t mask = __gpu_lane_mask(), wide = __gpu_lane_sum_u64(mask, (uint64_t)(t + 1) << 32);
  uint32_t sum = __gpu_lane_sum_u32(mask, t + 1);
  float quarters = __gpu_lane_sum_f32(mask, 0.25f * (float)(t + 1));
  if (__gpu_is_first_in_lane(mask)) {
    kdl_atomic_add(&out[0], wide >> 32 == sum ? sum : 0);
    kdl_atomic_add_f32(&y[0], quarters);
  }
}

// args: u32[1]
// items: 40
// not: spirv64
// arg0: 400
KDL_BLOCK(40)
__gpu_kernel void lanes_sum_of_some(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0);
  if (t % 2 == 0) { /* the mask has gaps */
    uint64_t mask = __gpu_lane_mask();
    uint32_t sum = __gpu_lane_sum_u32(mask, t + 1);
    if (__gpu_is_first_in_lane(mask))
      kdl_atomic_add(&out[0], sum);
  }
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_f64(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0), lane = __gpu_lane_id(), base = t - lane, lanes = __gpu_num_lanes();
  uint32_t last = 40 - base < lanes ? 40 - base : lanes;
  uint64_t mask = __gpu_lane_mask();
  double x = 0.5 * (t + 1), sum = 0.5 * (last * (base + 1) + last * (last - 1) / 2);
  out[t] = __gpu_lane_scan_f64(mask, x) == 0.5 * ((lane + 1) * (base + 1) + lane * (lane + 1) / 2) &&
           __gpu_lane_sum_f64(mask, x) == sum && __gpu_shuffle_idx_f64(mask, 0, x, lanes) == 0.5 * (base + 1) &&
           __gpu_read_first_lane_f64(mask, x) == 0.5 * (base + 1);
}

// args: u32[40]
// items: 40
// not: spirv64
// arg0: 1
KDL_BLOCK(40)
__gpu_kernel void lanes_match(__gpu_global uint32_t *out) {
  uint32_t t = __gpu_thread_id(0);
  uint64_t mask = __gpu_lane_mask();
  uint64_t all = __gpu_match_all_u32(mask, 5), wide = __gpu_match_all_u64(mask, (uint64_t)5 << 40);
  uint64_t any = __gpu_match_any_u32(mask, 7), wide_any = __gpu_match_any_u64(mask, (uint64_t)7 << 40);
  __gpu_sync_lane(mask);
  out[t] = all == mask && wide == mask && any == mask && wide_any == mask;
}
