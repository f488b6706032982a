/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <gpuintrin.h>'s subgroup functions for subgroups of one work-item: for OpenCL C 1.2 and the CPU.
 * Code that queries __gpu_num_lanes and does not assume 32 works with it.
 */
#ifndef KDL_KERNEL_LANE_H
#define KDL_KERNEL_LANE_H

#define __gpu_num_lanes() ((uint32_t)1)
#define __gpu_lane_id() ((uint32_t)0)
#define __gpu_lane_mask() ((uint64_t)1)
#define __gpu_first_lane_id(mask) ((void)(mask), (uint64_t)0)
#define __gpu_is_first_in_lane(mask) ((void)(mask), 1)
#define __gpu_ballot(mask, x) ((uint64_t)((mask) & 1) & (uint64_t)((x) != 0))
#define __gpu_sync_lane(mask) ((void)(mask))

#define KDL_ONE_LANE(type, suffix)                                                                 \
  static inline type __gpu_read_first_lane_##suffix(uint64_t mask, type x) {                       \
    (void)mask;                                                                                    \
    return x;                                                                                      \
  }                                                                                                \
  static inline type __gpu_shuffle_idx_##suffix(uint64_t mask, uint32_t index, type x,             \
                                                uint32_t width) {                                  \
    (void)mask, (void)index, (void)width;                                                          \
    return x;                                                                                      \
  }                                                                                                \
  static inline type __gpu_lane_scan_##suffix(uint64_t mask, type x) {                             \
    (void)mask;                                                                                    \
    return x;                                                                                      \
  }                                                                                                \
  static inline type __gpu_lane_sum_##suffix(uint64_t mask, type x) {                              \
    (void)mask;                                                                                    \
    return x;                                                                                      \
  }
KDL_ONE_LANE(uint32_t, u32)
KDL_ONE_LANE(uint64_t, u64)
KDL_ONE_LANE(float, f32)
#if KDL_OPENCL /* there double is an extension, and its name an error without it */
#define __gpu_read_first_lane_f64(mask, x) ((void)(mask), (double)(x))
#define __gpu_shuffle_idx_f64(mask, index, x, width)                                               \
  ((void)(mask), (void)(index), (void)(width), (double)(x))
#define __gpu_lane_scan_f64(mask, x) ((void)(mask), (double)(x))
#define __gpu_lane_sum_f64(mask, x) ((void)(mask), (double)(x))
#else
KDL_ONE_LANE(double, f64)
#endif
#undef KDL_ONE_LANE

#define __gpu_match_any_u32(mask, x) ((void)(x), (uint64_t)((mask) & 1))
#define __gpu_match_any_u64(mask, x) ((void)(x), (uint64_t)((mask) & 1))
#define __gpu_match_all_u32(mask, x) ((void)(x), (uint64_t)((mask) & 1))
#define __gpu_match_all_u64(mask, x) ((void)(x), (uint64_t)((mask) & 1))

#endif
