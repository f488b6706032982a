/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compilers call these if a CPU cannot convert half precision or bfloat16 by an instruction. */
#ifndef KDL_KERNEL_HALF_RUNTIME_H
#define KDL_KERNEL_HALF_RUNTIME_H

#include <kdl/kernel/narrow.h>

#define KDL_BUILTIN __attribute__((weak, visibility("hidden")))

static inline uint16_t kdl_builtin_bits(_Float16 x) {
  return __builtin_bit_cast(uint16_t, x);
}

static inline _Float16 kdl_builtin_half(double x) {
  return __builtin_bit_cast(_Float16, kdl_narrow_from_double(KDL_NARROW_F16, x));
}

static inline __bf16 kdl_builtin_bf16(double x) {
  return __builtin_bit_cast(__bf16, kdl_narrow_from_double(KDL_NARROW_BF16, x));
}

KDL_BUILTIN float __extendhfsf2(_Float16 x) {
  return (float)kdl_narrow_to_double(KDL_NARROW_F16, kdl_builtin_bits(x));
}
KDL_BUILTIN _Float16 __truncsfhf2(float x) {
  return kdl_builtin_half((double)x);
}
KDL_BUILTIN _Float16 __truncdfhf2(double x) {
  return kdl_builtin_half(x);
}
KDL_BUILTIN __bf16 __truncsfbf2(float x) {
  return kdl_builtin_bf16((double)x);
}
KDL_BUILTIN __bf16 __truncdfbf2(double x) {
  return kdl_builtin_bf16(x);
}

#endif
