/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/kernel.h> for the target `portable`: what differs between devices is a call of a declared
 * function, which kdl-ld defines for the device when the image is loaded (docs/portable.md). The 1
 * in the functions' names is the version of the form: a function never changes its meaning.
 */
#ifndef KDL_KERNEL_PORTABLE_H
#define KDL_KERNEL_PORTABLE_H

#include <kdl/kernel/portable_functions.h>

#define __gpu_private
#define __gpu_constant __attribute__((address_space(4)))
#define __gpu_local __attribute__((address_space(3)))
#define __gpu_global __attribute__((address_space(1)))
#define __gpu_generic
#ifdef __cplusplus /* a launch names a kernel by its C name */
#define __gpu_kernel extern "C" __attribute__((nvptx_kernel, visibility("protected")))
#else
#define __gpu_kernel __attribute__((nvptx_kernel, visibility("protected")))
#endif
#define KDL_BLOCK_ATTRIBUTE(...)

#define __GPU_X_DIM 0
#define __GPU_Y_DIM 1
#define __GPU_Z_DIM 2

#define KDL_PORTABLE_INDEX(name)                                                                   \
  static inline uint32_t __gpu_##name##_x(void) {                                                  \
    return kdl_p1_##name(0);                                                                       \
  }                                                                                                \
  static inline uint32_t __gpu_##name##_y(void) {                                                  \
    return kdl_p1_##name(1);                                                                       \
  }                                                                                                \
  static inline uint32_t __gpu_##name##_z(void) {                                                  \
    return kdl_p1_##name(2);                                                                       \
  }                                                                                                \
  static inline uint32_t __gpu_##name(int dim) {                                                   \
    return kdl_p1_##name(dim);                                                                     \
  }
KDL_PORTABLE_INDEX(num_blocks)
KDL_PORTABLE_INDEX(block_id)
KDL_PORTABLE_INDEX(num_threads)
KDL_PORTABLE_INDEX(thread_id)
#undef KDL_PORTABLE_INDEX

#define __gpu_sync_threads() kdl_p1_sync_threads()
#define __gpu_thread_suspend() kdl_p1_thread_suspend()

#define __gpu_num_lanes() kdl_p1_num_lanes()
#define __gpu_lane_id() kdl_p1_lane_id()
#define __gpu_lane_mask() kdl_p1_lane_mask()
#define __gpu_first_lane_id(mask) kdl_p1_first_lane_id(mask)
#define __gpu_is_first_in_lane(mask) kdl_p1_is_first_in_lane(mask)
#define __gpu_ballot(mask, x) kdl_p1_ballot(mask, x)
#define __gpu_sync_lane(mask) kdl_p1_sync_lane(mask)
#define KDL_PORTABLE_LANES(type, suffix)                                                           \
  static inline type __gpu_read_first_lane_##suffix(uint64_t mask, type x) {                       \
    return kdl_p1_read_first_lane_##suffix(mask, x);                                               \
  }                                                                                                \
  static inline type __gpu_shuffle_idx_##suffix(uint64_t mask, uint32_t index, type x,             \
                                                uint32_t width) {                                  \
    return kdl_p1_shuffle_idx_##suffix(mask, index, x, width);                                     \
  }                                                                                                \
  static inline type __gpu_lane_scan_##suffix(uint64_t mask, type x) {                             \
    return kdl_p1_lane_scan_##suffix(mask, x);                                                     \
  }                                                                                                \
  static inline type __gpu_lane_sum_##suffix(uint64_t mask, type x) {                              \
    return kdl_p1_lane_sum_##suffix(mask, x);                                                      \
  }
KDL_P1_EACH_LANE_TYPE(KDL_PORTABLE_LANES)
#undef KDL_PORTABLE_LANES
#define __gpu_match_any_u32(mask, x) kdl_p1_match_any_u32(mask, x)
#define __gpu_match_any_u64(mask, x) kdl_p1_match_any_u64(mask, x)
#define __gpu_match_all_u32(mask, x) kdl_p1_match_all_u32(mask, x)
#define __gpu_match_all_u64(mask, x) kdl_p1_match_all_u64(mask, x)

#define KDL_LOCAL(type, declarator)                                                                \
  static __attribute__((loader_uninitialized, aligned(16))) __gpu_local type declarator
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((aligned(16))) extern __gpu_local uint8_t kdl_dynamic[];
#define kdl_local_dynamic() kdl_dynamic

#include <kdl/kernel/gpu_operations.h>

static inline float kdl_fma(float a, float b, float c) {
  return kdl_p1_fma(a, b, c);
}
static inline float kdl_exp(float x) {
  return kdl_p1_exp(x);
}
static inline void kdl_atomic_add_f32(__gpu_global float *p, float v) {
  kdl_p1_atomic_add_f32(p, v);
}

#endif
