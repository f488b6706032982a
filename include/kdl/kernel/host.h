/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * <kdl/kernel.h> for the CPU: <gpuintrin.h>'s names. A group is a loop over its work-items in one
 * thread, and a subgroup is one work-item.
 *
 * `kdl cc` writes the loop: for each kernel a function as in <kdl/host_abi.h>, which calls the
 * kernel for every work-item of a group; barriers split it into several loops. kdl_item below is
 * the current work-item. It and the variables of KDL_LOCAL belong to the group: `kdl cc` makes them
 * local variables of the loop's function, and parameters of its callees. In a kernel that is
 * inlined into the loop the index is the loop counter, and the compiler can vectorise the loop; an
 * image has no thread-local variables.
 */
#ifndef KDL_KERNEL_HOST_H
#define KDL_KERNEL_HOST_H

#include <kdl/kernel/group.h>

#define __gpu_private
#define __gpu_constant
#define __gpu_local
#define __gpu_global
#define __gpu_generic
#ifdef __cplusplus /* a launch names a kernel by its C name */
#define __gpu_kernel                                                                               \
  extern "C" KDL_ANNOTATE("kdl.kernel", 1) __attribute__((always_inline, visibility("hidden")))
#else
#define __gpu_kernel                                                                               \
  KDL_ANNOTATE("kdl.kernel", 1) __attribute__((always_inline, visibility("hidden")))
#endif

#define KDL_BLOCK_ATTRIBUTE(...)

/* `kdl cc` recognises the group's variables by their section. Other compilers only support kernels
 * that run a group in one call (KDL_KERNEL): there group memory is a local variable, and a kernel
 * that queries work-items does not link. */
#ifdef KDL_CC
#define KDL_GROUP_VARIABLE static __thread __attribute__((unused, section("kdl.group")))
#define KDL_LOCAL(type, declarator) KDL_GROUP_VARIABLE type declarator
#else
#define KDL_GROUP_VARIABLE extern __attribute__((visibility("hidden")))
#ifdef __cplusplus
#define KDL_LOCAL(type, declarator) type declarator
#else
#define KDL_LOCAL(type, declarator) auto type declarator /* an error outside of functions */
#endif
#endif

KDL_GROUP_VARIABLE struct kdl_item {
  uint32_t group[3];
  uint32_t group_count[3];
  uint32_t block[3];
  uint32_t thread[3];
  void *dynamic;
} kdl_item;

#ifdef KDL_CC
static inline __attribute__((always_inline)) void *kdl_local_dynamic(void) {
  return kdl_item.dynamic;
}
#define KDL_LOCAL_DYNAMIC(type, name) type *name = (type *)kdl_local_dynamic()
#endif

#define __GPU_X_DIM 0
#define __GPU_Y_DIM 1
#define __GPU_Z_DIM 2

#define KDL_ITEM_GETTERS(name, field, otherwise)                                                   \
  static inline uint32_t __gpu_##name##_x(void) {                                                  \
    return kdl_item.field[0];                                                                      \
  }                                                                                                \
  static inline uint32_t __gpu_##name##_y(void) {                                                  \
    return kdl_item.field[1];                                                                      \
  }                                                                                                \
  static inline uint32_t __gpu_##name##_z(void) {                                                  \
    return kdl_item.field[2];                                                                      \
  }                                                                                                \
  static inline uint32_t __gpu_##name(int dim) {                                                   \
    return dim >= 0 && dim <= 2 ? kdl_item.field[dim] : (otherwise);                               \
  }
KDL_ITEM_GETTERS(num_blocks, group_count, 1)
KDL_ITEM_GETTERS(block_id, group, 0)
KDL_ITEM_GETTERS(num_threads, block, 1)
KDL_ITEM_GETTERS(thread_id, thread, 0)
#undef KDL_ITEM_GETTERS

/* `kdl cc` splits a kernel at calls of kdl_cc_barrier, and makes each part a loop. Other compilers
 * only support kernels that run a group in one call, which need no barrier. */
#ifdef KDL_CC
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("hidden"))) void kdl_cc_barrier(void);
static inline __attribute__((always_inline, nodebug)) void __gpu_sync_threads(void) {
  kdl_cc_barrier();
}
#else
static inline void __gpu_sync_threads(void) {}
#endif

static inline void __gpu_thread_suspend(void) {}

#include <kdl/kernel/lane.h>

#define kdl_atomic_add(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define kdl_atomic_min(p, v) kdl_atomic_pick(p, v, <)
#define kdl_atomic_max(p, v) kdl_atomic_pick(p, v, >)
#define kdl_atomic_pick(p, v, is_better)                                                           \
  __extension__({                                                                                  \
    __typeof__(&*(p)) kdl_at = (p);                                                                \
    __typeof__(*(p) + 0) kdl_new = (v), kdl_seen = __atomic_load_n(kdl_at, __ATOMIC_RELAXED);      \
    while (kdl_new is_better kdl_seen &&                                                           \
           !__atomic_compare_exchange_n(kdl_at, &kdl_seen, kdl_new, 1, __ATOMIC_RELAXED,           \
                                        __ATOMIC_RELAXED))                                         \
      continue;                                                                                    \
    kdl_seen;                                                                                      \
  })
#define kdl_atomic_cas(p, expected, v)                                                             \
  __extension__({                                                                                  \
    __typeof__(*(p) + 0) kdl_seen = (expected);                                                    \
    __atomic_compare_exchange_n(p, &kdl_seen, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);           \
    kdl_seen;                                                                                      \
  })

union kdl_f32_or_bits {
  float f;
  uint32_t u;
};
static inline uint32_t kdl_bits_f32(float value) {
  union kdl_f32_or_bits pun;
  pun.f = value;
  return pun.u;
}
static inline float kdl_f32_bits(uint32_t bits) {
  union kdl_f32_or_bits pun;
  pun.u = bits;
  return pun.f;
}

/* Without the instruction, __builtin_fmaf would call a library. */
static inline float kdl_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
static inline float kdl_sqrt(float x) {
  return __builtin_sqrtf(x);
}
static inline float kdl_abs(float x) {
  return __builtin_fabsf(x);
}

#endif
