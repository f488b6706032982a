/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What <kdl/kernel.h> has for GPUs and for the target `portable` alike; what includes it defines
 * kdl_local_dynamic(). */
#ifndef KDL_KERNEL_GPU_OPERATIONS_H
#define KDL_KERNEL_GPU_OPERATIONS_H

#define KDL_LOCAL_DYNAMIC(type, name)                                                              \
  __gpu_local type *name = (__gpu_local type *)kdl_local_dynamic()

#define KDL_RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define kdl_atomic_add(p, v) __scoped_atomic_fetch_add(p, v, KDL_RELAXED)
#define kdl_atomic_min(p, v) __scoped_atomic_fetch_min(p, v, KDL_RELAXED)
#define kdl_atomic_max(p, v) __scoped_atomic_fetch_max(p, v, KDL_RELAXED)
#define kdl_atomic_cas(p, expected, v)                                                             \
  __extension__({                                                                                  \
    __typeof__(*(p) + 0) kdl_seen = (expected);                                                    \
    __scoped_atomic_compare_exchange_n(p, &kdl_seen, v, 0, __ATOMIC_RELAXED, KDL_RELAXED);         \
    kdl_seen;                                                                                      \
  })

static inline uint32_t kdl_bits_f32(float value) {
  return __builtin_bit_cast(uint32_t, value);
}
static inline float kdl_f32_bits(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
static inline float kdl_sqrt(float x) {
  return __builtin_sqrtf(x);
}
static inline float kdl_abs(float x) {
  return __builtin_fabsf(x);
}

#endif
