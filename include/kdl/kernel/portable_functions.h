/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions that a portable image declares, version 1. compiler/ir/portable/library.c defines
 * them for each family of devices, by the headers that `kdl cc` has for it. Math has names of its
 * own: kdl_math_sinf and so on (<kdl/math/functions.h>).
 */
#ifndef KDL_KERNEL_PORTABLE_FUNCTIONS_H
#define KDL_KERNEL_PORTABLE_FUNCTIONS_H

#include <stdint.h>

#ifndef KDL_P1_GLOBAL /* the library's own, on CPUs */
#define KDL_P1_GLOBAL __attribute__((address_space(1)))
#endif
#ifdef __cplusplus
#define KDL_P1_BOOL bool
#else
#define KDL_P1_BOOL _Bool
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Hidden, so that no image exports one. */
#define KDL_P1 __attribute__((visibility("hidden")))
#define KDL_P1_VALUE KDL_P1 __attribute__((const))

/* 1 on a CPU, else 0: KDL_HOST. */
KDL_P1_VALUE uint32_t kdl_p1_is_host(void);

/* The work-item; a dimension is 0, 1 or 2. */
KDL_P1_VALUE uint32_t kdl_p1_num_blocks(int dim);
KDL_P1_VALUE uint32_t kdl_p1_block_id(int dim);
KDL_P1_VALUE uint32_t kdl_p1_num_threads(int dim);
KDL_P1_VALUE uint32_t kdl_p1_thread_id(int dim);
KDL_P1 __attribute__((convergent)) void kdl_p1_sync_threads(void);
KDL_P1 void kdl_p1_thread_suspend(void);

/* Subgroups, of the device's size; one work-item on CPUs. */
#define KDL_P1_LANES KDL_P1_VALUE __attribute__((convergent))
KDL_P1_VALUE uint32_t kdl_p1_num_lanes(void);
KDL_P1_VALUE uint32_t kdl_p1_lane_id(void);
KDL_P1_LANES uint64_t kdl_p1_lane_mask(void);
KDL_P1_VALUE uint64_t kdl_p1_first_lane_id(uint64_t mask);
KDL_P1_VALUE KDL_P1_BOOL kdl_p1_is_first_in_lane(uint64_t mask);
KDL_P1_LANES uint64_t kdl_p1_ballot(uint64_t mask, KDL_P1_BOOL x);
KDL_P1 __attribute__((convergent)) void kdl_p1_sync_lane(uint64_t mask);
#define KDL_P1_EACH_LANE_TYPE(X) X(uint32_t, u32) X(uint64_t, u64) X(float, f32) X(double, f64)
#define KDL_P1_DECLARE_LANES(type, suffix)                                                         \
  KDL_P1_LANES type kdl_p1_read_first_lane_##suffix(uint64_t mask, type x);                        \
  KDL_P1_LANES type kdl_p1_shuffle_idx_##suffix(uint64_t mask, uint32_t index, type x,             \
                                                uint32_t width);                                   \
  KDL_P1_LANES type kdl_p1_lane_scan_##suffix(uint64_t mask, type x);                              \
  KDL_P1_LANES type kdl_p1_lane_sum_##suffix(uint64_t mask, type x);
KDL_P1_EACH_LANE_TYPE(KDL_P1_DECLARE_LANES)
KDL_P1_LANES uint64_t kdl_p1_match_any_u32(uint64_t mask, uint32_t x);
KDL_P1_LANES uint64_t kdl_p1_match_any_u64(uint64_t mask, uint64_t x);
KDL_P1_LANES uint64_t kdl_p1_match_all_u32(uint64_t mask, uint32_t x);
KDL_P1_LANES uint64_t kdl_p1_match_all_u64(uint64_t mask, uint64_t x);

/* <kdl/kernel.h> has other code for these on some devices. */
KDL_P1_VALUE float kdl_p1_fma(float a, float b, float c);
KDL_P1_VALUE float kdl_p1_exp(float x);
KDL_P1_VALUE float kdl_p1_half_float(uint32_t bits);
KDL_P1_VALUE uint32_t kdl_p1_float_half(float f);
KDL_P1 void kdl_p1_atomic_add_f32(KDL_P1_GLOBAL float *p, float v);

#ifdef __cplusplus
}
#endif

#endif
