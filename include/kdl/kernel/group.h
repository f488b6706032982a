/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Kernels for the CPU that run a work-group in one call, for any C compiler:
 *
 *     #include <kdl/kernel.h>
 *
 *     KDL_KERNEL(saxpy, (1024, 1, 1), (1024, 1, 1),
 *                (float, a), (const float *restrict, x), (float *restrict, y), (uint32_t, n)) {
 *       uint64_t end = kdl_group_end(kdl_group, 0, n);
 *       for (uint64_t i = kdl_group_begin(kdl_group, 0); i < end; ++i)
 *         y[i] += a * x[i];
 *     }
 *
 *     cc -O3 -march=x86-64-v3 -fPIC -shared saxpy.c -o saxpy.so
 *
 * KDL_KERNEL(name, block, tile, (type, parameter)...) is followed by the body for one work-group,
 * which has `kdl_group` (see <kdl/host_abi.h>) and 1 to 32 parameters. No library is needed. Under
 * `#if KDL_HOST`, a file for `kdl cc` can use it in place of a kernel for one work-item, if another
 * form is faster on the CPU.
 */
#ifndef KDL_KERNEL_GROUP_H
#define KDL_KERNEL_GROUP_H

#include <kdl/each.h>
#include <kdl/host_abi.h>

/* The first work-item of the problem that the group covers, in one dimension. */
static inline uint64_t kdl_group_begin(const kdl_host_group *group, int direction) {
  return (uint64_t)group->group[direction] * group->tile[direction];
}

/* The end of these work-items, in a problem of `items`. */
static inline uint64_t kdl_group_end(const kdl_host_group *group, int direction, uint64_t items) {
  uint64_t end = kdl_group_begin(group, direction) + group->tile[direction];
  return end < items ? end : items;
}

#define KDL_KERNEL(name, block_size, tile_size, ...)                                               \
  KDL_ANNOTATE("kdl.group", 1)                                                                     \
  KDL_ANNOTATE("kdl.block", KDL_KERNEL_BARE block_size)                                            \
  KDL_ANNOTATE("kdl.tile", KDL_KERNEL_BARE tile_size)                                              \
  static inline void name##_group(                                                                 \
      const kdl_host_group *kdl_group KDL_EACH(KDL_KERNEL_DECLARE, _, __VA_ARGS__));               \
  KDL_KERNEL_EXPORT void name(const kdl_host_group *kdl_group, const void *const *kdl_args) {      \
    KDL_EACH(KDL_KERNEL_TAKE, _, __VA_ARGS__)                                                      \
    name##_group(kdl_group KDL_EACH(KDL_KERNEL_PASS, _, __VA_ARGS__));                             \
  }                                                                                                \
  static const kdl_host_param name##_params[] = {KDL_EACH(KDL_KERNEL_SHOW, _, __VA_ARGS__)};       \
  KDL_KERNEL_EXPORT const kdl_host_kernel kdl_host_kernel_##name = {KDL_HOST_ABI,                  \
                                                                    sizeof(kdl_host_kernel),       \
                                                                    name,                          \
                                                                    {KDL_KERNEL_BARE block_size},  \
                                                                    {KDL_KERNEL_BARE tile_size},   \
                                                                    KDL_KERNEL_SHARED,             \
                                                                    KDL_COUNT(__VA_ARGS__),        \
                                                                    name##_params};                \
  static inline void name##_group(                                                                 \
      const kdl_host_group *kdl_group KDL_EACH(KDL_KERNEL_DECLARE, _, __VA_ARGS__))

/* Bytes of group memory of the following kernels; define it before including this header. */
#ifndef KDL_KERNEL_SHARED
#define KDL_KERNEL_SHARED 0
#endif

#define KDL_KERNEL_EXPORT __attribute__((visibility("default")))
#define KDL_KERNEL_BARE(...) __VA_ARGS__
#define KDL_KERNEL_DECLARE(_, pair) , KDL_KERNEL_DECLARE_ pair
#define KDL_KERNEL_DECLARE_(type, name) type name
#define KDL_KERNEL_TAKE(_, pair) KDL_KERNEL_TAKE_ pair
#define KDL_KERNEL_TAKE_(type, name) type name = *(type const *)*kdl_args++;
#define KDL_KERNEL_PASS(_, pair) , KDL_KERNEL_PASS_ pair
#define KDL_KERNEL_PASS_(type, name) name
#define KDL_KERNEL_SHOW(_, pair) KDL_KERNEL_SHOW_ pair
#define KDL_KERNEL_SHOW_(type, name) {sizeof(type), __alignof__(type)},

#endif
