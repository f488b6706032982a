/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* IEEE half precision and bfloat16, as 16 bits: from a double, rounded once to nearest, ties to
 * even, and back. */
#ifndef KDL_KERNEL_NARROW_H
#define KDL_KERNEL_NARROW_H

#include <stdint.h>

/* A 16-bit format: the bits of its fraction, and the bias of its exponent. */
typedef struct kdl_narrow_format {
  int fraction_bits;
  int bias;
} kdl_narrow_format;

#define KDL_NARROW_F16 ((kdl_narrow_format){10, 15})
#define KDL_NARROW_BF16 ((kdl_narrow_format){7, 127})

static inline uint16_t kdl_narrow_from_double(kdl_narrow_format format, double value) {
  union {
    double value;
    uint64_t bits;
  } pun = {value};
  uint64_t bits = pun.bits;
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  uint16_t infinity = (uint16_t)(0x7fff & ~((1u << format.fraction_bits) - 1));
  if (exponent == 1024) /* infinity, or a NaN that stays a NaN */
    return (uint16_t)(sign | infinity | (fraction ? 1u << (format.fraction_bits - 1) : 0));
  int least = 1 - format.bias; /* of the smallest normal number, and of all smaller ones */
  int shift = 52 - format.fraction_bits + (exponent < least ? least - exponent : 0);
  if (exponent == -1023 || shift > 54)
    return sign;
  uint64_t whole = fraction | (uint64_t)1 << 52;
  uint64_t kept = whole >> shift;
  uint64_t rest = whole & (((uint64_t)1 << shift) - 1);
  uint64_t tie = (uint64_t)1 << (shift - 1);
  kept += rest > tie || (rest == tie && (kept & 1));
  if (exponent >= least) /* the leading one of a normal number adds one to its exponent */
    kept += (uint64_t)(exponent - least) << format.fraction_bits;
  return (uint16_t)(sign | (kept > infinity ? infinity : kept));
}

static inline double kdl_narrow_to_double(kdl_narrow_format format, uint16_t bits) {
  int most = (1 << (15 - format.fraction_bits)) - 1;
  int exponent = bits >> format.fraction_bits & most;
  uint64_t fraction = bits & ((1u << format.fraction_bits) - 1);
  uint64_t sign = (uint64_t)(bits >> 15) << 63;
  uint64_t wide = sign;
  if (exponent == most) {
    wide |= (uint64_t)0x7ff << 52 | fraction << (52 - format.fraction_bits);
  } else if (exponent || fraction) {
    int power = exponent ? exponent - format.bias : 1 - format.bias;
    if (exponent)
      fraction |= (uint64_t)1 << format.fraction_bits;
    while (!(fraction >> format.fraction_bits)) {
      fraction <<= 1;
      --power;
    }
    fraction &= ((uint64_t)1 << format.fraction_bits) - 1;
    wide |= (uint64_t)(power + 1023) << 52 | fraction << (52 - format.fraction_bits);
  }
  union {
    uint64_t bits;
    double value;
  } pun = {wide};
  return pun.value;
}

#endif
