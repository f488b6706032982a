/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "numbers.h"

#include <kdl/kernel/narrow.h>

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const number_type types[] = {
    {"i8", NUMBER_SIGNED, 1, 0, 0},    {"i16", NUMBER_SIGNED, 2, 0, 0},
    {"i32", NUMBER_SIGNED, 4, 0, 0},   {"i64", NUMBER_SIGNED, 8, 0, 0},
    {"u8", NUMBER_UNSIGNED, 1, 0, 0},  {"u16", NUMBER_UNSIGNED, 2, 0, 0},
    {"u32", NUMBER_UNSIGNED, 4, 0, 0}, {"u64", NUMBER_UNSIGNED, 8, 0, 0},
    {"f16", NUMBER_REAL, 2, 11, -14},  {"bf16", NUMBER_REAL, 2, 8, -126},
    {"f32", NUMBER_REAL, 4, 24, -126}, {"f64", NUMBER_REAL, 8, 53, -1022},
};

const number_type *number_type_of(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (strcmp(types[i].name, name) == 0)
      return &types[i];
  }
  return NULL;
}

static kdl_narrow_format format_of(const number_type *type) {
  return type->digits == 11 ? KDL_NARROW_F16 : KDL_NARROW_BF16;
}

static void store_real(const number_type *type, double value, void *at) {
  if (type->size == 2) {
    uint16_t bits = kdl_narrow_from_double(format_of(type), value);
    memcpy(at, &bits, sizeof bits);
  } else if (type->size == 4) {
    float narrow = (float)value;
    memcpy(at, &narrow, sizeof narrow);
  } else {
    memcpy(at, &value, sizeof value);
  }
}

static double load_real(const number_type *type, const void *at) {
  double value = 0;
  if (type->size == 2) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    value = kdl_narrow_to_double(format_of(type), bits);
  } else if (type->size == 4) {
    float narrow;
    memcpy(&narrow, at, sizeof narrow);
    value = (double)narrow;
  } else {
    memcpy(&value, at, sizeof value);
  }
  return value;
}

static uint64_t load_bits(const number_type *type, const void *at) {
  uint64_t bits = 0;
  memcpy(&bits, at, type->size);
  return bits;
}

void number_read(const number_type *type, const char *words, void *at) {
  if (type->kind == NUMBER_REAL) {
    store_real(type, strtod(words, NULL), at);
    return;
  }
  uint64_t bits =
      type->kind == NUMBER_SIGNED ? (uint64_t)strtoll(words, NULL, 0) : strtoull(words, NULL, 0);
  memcpy(at, &bits, type->size);
}

void number_print(const number_type *type, const void *at, char *out, size_t room) {
  uint64_t bits = load_bits(type, at);
  unsigned unused = (unsigned)(64 - type->size * 8);
  if (type->kind == NUMBER_REAL)
    snprintf(out, room, "%.17g", load_real(type, at));
  else if (type->kind == NUMBER_SIGNED)
    snprintf(out, room, "%" PRId64, (int64_t)(bits << unused) >> unused);
  else
    snprintf(out, room, "%" PRIu64, bits);
}

double number_ulp(const number_type *type, const void *found, const void *expected) {
  double is = load_real(type, found), should = load_real(type, expected);
  if (is == should || (isnan(is) && isnan(should)))
    return 0;
  if (!isfinite(is) || !isfinite(should))
    return INFINITY;
  int exponent = should == 0 ? type->smallest : ilogb(should);
  if (exponent < type->smallest)
    exponent = type->smallest;
  return fabs(is - should) / ldexp(1, exponent - type->digits + 1);
}

bool number_is_near(const number_type *type, const void *found, const void *expected, double ulp,
                    double apart) {
  if (type->kind != NUMBER_REAL)
    return memcmp(found, expected, type->size) == 0;
  if (number_ulp(type, found, expected) <= ulp)
    return true;
  double distance = fabs(load_real(type, found) - load_real(type, expected));
  return apart > 0 && distance <= apart;
}
