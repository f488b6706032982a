/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions that portable images declare, for one family of devices: <kdl/kernel.h> and
 * <kdl/math.h> under the names of <kdl/kernel/portable_functions.h>. They are microkernels: kdl-ld
 * links and inlines those that an image calls. On CPUs kdl-ld itself defines what depends on the
 * work-item (lower_cpu.c).
 */
#if defined(__NVPTX__) || defined(__AMDGPU__) || defined(__SPIRV__)
#define IS_GPU
#else
#define KDL_CC /* KDL_LOCAL and the like are not used */
#define KDL_P1_GLOBAL
#endif

#include <kdl/kernel.h>
#ifdef IS_GPU
#define KDL_P1_GLOBAL __gpu_global
#endif
#include <kdl/kernel/portable_functions.h>
#include <kdl/math/functions.h>

#ifdef IS_GPU
#define INDEX(name)                                                                                \
  uint32_t kdl_p1_##name(int dim) {                                                                \
    return __gpu_##name(dim);                                                                      \
  }
INDEX(num_blocks)
INDEX(block_id)
INDEX(num_threads)
INDEX(thread_id)

void kdl_p1_sync_threads(void) {
  __gpu_sync_threads();
}
#endif

void kdl_p1_thread_suspend(void) {
  __gpu_thread_suspend();
}
uint32_t kdl_p1_num_lanes(void) {
  return __gpu_num_lanes();
}
uint32_t kdl_p1_lane_id(void) {
  return __gpu_lane_id();
}
uint64_t kdl_p1_lane_mask(void) {
  return __gpu_lane_mask();
}
uint64_t kdl_p1_first_lane_id(uint64_t mask) {
  return __gpu_first_lane_id(mask);
}
_Bool kdl_p1_is_first_in_lane(uint64_t mask) {
  return __gpu_is_first_in_lane(mask);
}
uint64_t kdl_p1_ballot(uint64_t mask, _Bool x) {
  return __gpu_ballot(mask, x);
}
void kdl_p1_sync_lane(uint64_t mask) {
  __gpu_sync_lane(mask);
}
#define LANES(type, suffix)                                                                        \
  type kdl_p1_read_first_lane_##suffix(uint64_t mask, type x) {                                    \
    return __gpu_read_first_lane_##suffix(mask, x);                                                \
  }                                                                                                \
  type kdl_p1_shuffle_idx_##suffix(uint64_t mask, uint32_t index, type x, uint32_t width) {        \
    return __gpu_shuffle_idx_##suffix(mask, index, x, width);                                      \
  }                                                                                                \
  type kdl_p1_lane_scan_##suffix(uint64_t mask, type x) {                                          \
    return __gpu_lane_scan_##suffix(mask, x);                                                      \
  }                                                                                                \
  type kdl_p1_lane_sum_##suffix(uint64_t mask, type x) {                                           \
    return __gpu_lane_sum_##suffix(mask, x);                                                       \
  }
KDL_P1_EACH_LANE_TYPE(LANES)
uint64_t kdl_p1_match_any_u32(uint64_t mask, uint32_t x) {
  return __gpu_match_any_u32(mask, x);
}
uint64_t kdl_p1_match_any_u64(uint64_t mask, uint64_t x) {
  return __gpu_match_any_u64(mask, x);
}
uint64_t kdl_p1_match_all_u32(uint64_t mask, uint32_t x) {
  return __gpu_match_all_u32(mask, x);
}
uint64_t kdl_p1_match_all_u64(uint64_t mask, uint64_t x) {
  return __gpu_match_all_u64(mask, x);
}

float kdl_p1_fma(float a, float b, float c) {
  return kdl_fma(a, b, c);
}
float kdl_p1_exp(float x) {
  return kdl_exp(x);
}
float kdl_p1_half_float(uint32_t bits) {
  kdl_half h = {(uint16_t)bits};
  return kdl_half_float(h);
}
uint32_t kdl_p1_float_half(float f) {
  return kdl_float_half(f).bits;
}
void kdl_p1_atomic_add_f32(__gpu_global float *p, float v) {
  kdl_atomic_add_f32(p, v);
}
