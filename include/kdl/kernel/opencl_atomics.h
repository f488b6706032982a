/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 32-bit and 64-bit atomics in OpenCL C 1.2. Of the extensions only the base one is needed: 64-bit
 * minimum and maximum use its compare-and-exchange. */
#ifndef KDL_KERNEL_OPENCL_ATOMICS_H
#define KDL_KERNEL_OPENCL_ATOMICS_H

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define KDL_ATOMIC static inline __attribute__((overloadable))

#define KDL_ATOMICS_32(space, type)                                                                \
  KDL_ATOMIC type kdl_atomic_add(volatile space type *p, type v) {                                 \
    return atomic_add(p, v);                                                                       \
  }                                                                                                \
  KDL_ATOMIC type kdl_atomic_min(volatile space type *p, type v) {                                 \
    return atomic_min(p, v);                                                                       \
  }                                                                                                \
  KDL_ATOMIC type kdl_atomic_max(volatile space type *p, type v) {                                 \
    return atomic_max(p, v);                                                                       \
  }                                                                                                \
  KDL_ATOMIC type kdl_atomic_cas(volatile space type *p, type expected, type v) {                  \
    return atomic_cmpxchg(p, expected, v);                                                         \
  }

#define KDL_ATOMIC_PICK(space, type, name, is_better)                                              \
  KDL_ATOMIC type name(volatile space type *p, type v) {                                           \
    type seen = atom_add(p, (type)0), found;                                                       \
    while (v is_better seen && (found = atom_cmpxchg(p, seen, v)) != seen)                         \
      seen = found;                                                                                \
    return seen;                                                                                   \
  }

#define KDL_ATOMICS_64(space, type)                                                                \
  KDL_ATOMIC type kdl_atomic_add(volatile space type *p, type v) {                                 \
    return atom_add(p, v);                                                                         \
  }                                                                                                \
  KDL_ATOMIC_PICK(space, type, kdl_atomic_min, <)                                                  \
  KDL_ATOMIC_PICK(space, type, kdl_atomic_max, >)                                                  \
  KDL_ATOMIC type kdl_atomic_cas(volatile space type *p, type expected, type v) {                  \
    return atom_cmpxchg(p, expected, v);                                                           \
  }

KDL_ATOMICS_32(__global, int)
KDL_ATOMICS_32(__global, uint)
KDL_ATOMICS_32(__local, int)
KDL_ATOMICS_32(__local, uint)
KDL_ATOMICS_64(__global, long)
KDL_ATOMICS_64(__global, ulong)
KDL_ATOMICS_64(__local, long)
KDL_ATOMICS_64(__local, ulong)

#undef KDL_ATOMICS_32
#undef KDL_ATOMICS_64
#undef KDL_ATOMIC_PICK
#undef KDL_ATOMIC

#endif
