/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions that Clang calls if a CPU has no instruction for an operation. `kdl cc` appends this to
 * a source for a CPU, so that an image needs no library; unused functions are dropped. Compilers
 * have these in their runtime libraries, and libm has fma.
 */
#ifndef KDL_KERNEL_RUNTIME_H
#define KDL_KERNEL_RUNTIME_H

#include <kdl/kernel/half_runtime.h>

/* ------------------------------------------------------------------------------------------ */
/* Fused multiply-add                                                                           */

#if defined(__x86_64__) && !defined(__FMA__)
/* The product is exact in double. An inexact sum is rounded to odd, so that the second rounding is
 * correct. */
KDL_BUILTIN float kdl_builtin_fmaf(float, float, float) __asm__("fmaf");
KDL_BUILTIN float kdl_builtin_fmaf(float a, float b, float c) {
#pragma clang fp reassociate(off) contract(off)
  double product = (double)a * (double)b, add = (double)c, sum = product + add;
  double part = sum - product;
  double rest = (product - (sum - part)) + (add - part);
  union {
    double value;
    uint64_t bits;
  } pun = {sum};
  if (rest != 0 && rest - rest == 0 && !(pun.bits & 1))
    pun.bits += (rest > 0) == (sum > 0) ? 1 : (uint64_t)-1;
  return (float)pun.value;
}

/* A number is significand * 2^exponent, with its leading one at bit 125. */
typedef struct kdl_builtin_number {
  unsigned __int128 significand;
  int exponent;
  int is_negative;
} kdl_builtin_number;

static inline kdl_builtin_number kdl_builtin_unpack(double x) {
  union {
    double value;
    uint64_t bits;
  } pun = {x};
  int biased = (int)(pun.bits >> 52 & 0x7ff);
  uint64_t fraction = pun.bits & 0xfffffffffffff;
  kdl_builtin_number number = {biased ? fraction | 0x10000000000000 : fraction,
                               (biased ? biased : 1) - 1075, (int)(pun.bits >> 63)};
  return number;
}

static inline void kdl_builtin_normalise(kdl_builtin_number *n) {
  while (!(n->significand >> 125)) {
    n->significand <<= 1;
    --n->exponent;
  }
}

/* Shifts to a larger exponent; lost bits set the last bit. */
static inline void kdl_builtin_align(kdl_builtin_number *n, int exponent) {
  int shift = exponent - n->exponent;
  n->exponent = exponent;
  if (shift > 127) {
    n->significand = 1;
  } else if (shift > 0) {
    unsigned __int128 lost = n->significand & (((unsigned __int128)1 << shift) - 1);
    n->significand = n->significand >> shift | (lost != 0);
  }
}

static inline double kdl_builtin_round(kdl_builtin_number n) {
  int leading = 127;
  while (!(n.significand >> leading))
    --leading;
  int exponent = leading + n.exponent, shift = leading - 52;
  if (exponent < -1022)
    shift += -1022 - exponent;
  union {
    uint64_t bits;
    double value;
  } pun = {0};
  if (exponent > 1023) {
    pun.bits = (uint64_t)0x7ff << 52;
  } else if (shift <= 127) {
    unsigned __int128 kept = shift > 0 ? n.significand >> shift : n.significand << -shift;
    if (shift > 0) {
      unsigned __int128 rest = n.significand & (((unsigned __int128)1 << shift) - 1);
      unsigned __int128 tie = (unsigned __int128)1 << (shift - 1);
      kept += rest > tie || (rest == tie && (kept & 1));
    }
    pun.bits = (uint64_t)kept;
    if (exponent >= -1022) /* the leading one adds one to the exponent */
      pun.bits += (uint64_t)(exponent + 1022) << 52;
  }
  pun.bits |= (uint64_t)n.is_negative << 63;
  return pun.value;
}

KDL_BUILTIN double kdl_builtin_fma(double, double, double) __asm__("fma");
KDL_BUILTIN double kdl_builtin_fma(double a, double b, double c) {
  double plain = a * b;
  if (!(plain - plain == 0) && !(a - a == 0 && b - b == 0))
    return plain + c;
  if (!(c - c == 0) || a == 0 || b == 0)
    return plain + c;
  kdl_builtin_number x = kdl_builtin_unpack(a), y = kdl_builtin_unpack(b),
                     z = kdl_builtin_unpack(c);
  kdl_builtin_number sum = {x.significand * y.significand, x.exponent + y.exponent,
                            x.is_negative ^ y.is_negative};
  kdl_builtin_normalise(&sum);
  if (c != 0) {
    kdl_builtin_normalise(&z);
    kdl_builtin_align(&sum, z.exponent > sum.exponent ? z.exponent : sum.exponent);
    kdl_builtin_align(&z, sum.exponent);
    if (sum.is_negative == z.is_negative) {
      sum.significand += z.significand;
    } else if (sum.significand >= z.significand) {
      sum.significand -= z.significand;
    } else {
      sum.significand = z.significand - sum.significand;
      sum.is_negative = z.is_negative;
    }
    if (sum.significand == 0)
      return 0;
  }
  return kdl_builtin_round(sum);
}
#endif

#endif
