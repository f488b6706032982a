/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Problem classes: launches of a kernel whose sizes are alike, for which one variant is chosen.
 *
 * A launch has up to 11 numbers: three extents (the items, or the groups of an explicit grid) and
 * the arguments that the field `shape` names. Each number has a bucket; launches with equal buckets
 * are of one class. docs/adaptive.md has the rules:
 *
 *     0 to 16          a bucket each
 *     17 and more      four buckets for each doubling, each for multiples of 16 and for others
 */
#ifndef KDL_EXT_ADAPTIVE_PROBLEM_CLASS_H
#define KDL_EXT_ADAPTIVE_PROBLEM_CLASS_H

#include "lib/hooks.h"
#include "support/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
  KDL_CLASS_EXTENTS = 3,
  KDL_CLASS_ARGUMENTS = 8,
  KDL_CLASS_NUMBERS = KDL_CLASS_EXTENTS + KDL_CLASS_ARGUMENTS,
  KDL_CLASS_BITS = 9,           /* of a bucket */
  KDL_CLASS_FIRST_WORD = 7,     /* numbers in the first word */
  KDL_CLASS_CONDITIONS_AT = 36, /* bits of the second word from which it has the conditions */
  KDL_CLASS_CONDITIONS = 28,
};

/* Two words: buckets from the lowest bits up. The top bit of the first: an explicit grid. The top
 * 28 bits of the second: which conditions of images hold. */
typedef struct kdl_problem_class {
  uint64_t words[2];
} kdl_problem_class;

static inline uint64_t kdl_class_bucket(uint64_t value) {
  if (value <= 16)
    return value;
  unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
  unsigned quarter = (unsigned)(value >> (exponent - 2)) & 3;
  return 32 + ((exponent * 4 + quarter - 16) * 2 + ((value & 15) == 0));
}

/* Negative numbers count as 0. */
static inline uint64_t kdl_class_read(const kdl_shape_argument *argument, const void *at) {
  uint64_t value = 0;
  uint32_t word;
  if (argument->size == 4) { /* the usual size */
    memcpy(&word, at, sizeof word);
    return argument->is_signed && (int32_t)word < 0 ? 0 : word;
  }
  memcpy(&value, at, argument->size); /* little-endian */
  unsigned shift = 64 - 8u * argument->size;
  return argument->is_signed && (int64_t)(value << shift) < 0 ? 0 : value;
}

static inline void kdl_class_add(kdl_problem_class *to, unsigned at, uint64_t value) {
  unsigned word = at >= KDL_CLASS_FIRST_WORD;
  to->words[word] |= kdl_class_bucket(value)
                     << KDL_CLASS_BITS * (at - (word ? KDL_CLASS_FIRST_WORD : 0u));
}

static inline uint64_t kdl_class_bucket_at(const kdl_problem_class *from, unsigned at) {
  unsigned word = at >= KDL_CLASS_FIRST_WORD;
  return from->words[word] >> KDL_CLASS_BITS * (at - (word ? KDL_CLASS_FIRST_WORD : 0u)) &
         ((1u << KDL_CLASS_BITS) - 1);
}

static inline bool kdl_class_is_grid(const kdl_problem_class *of) {
  return of->words[0] >> 63;
}

/* The smallest and the largest number of a bucket. */
void kdl_class_range(uint64_t bucket, uint64_t *out_least, uint64_t *out_most);

/* "items 448..511x1 m=448..496(16)": extents, then the arguments. "(16)" marks multiples of 16. */
void kdl_class_print(const kdl_problem_class *of, const kdl_shape_argument *arguments, size_t count,
                     kdl_out *out);

/* How far two classes are apart, in eighths of doublings; UINT32_MAX where an image could not serve
 * both: one is of grids, or other conditions hold. */
uint32_t kdl_class_distance(const kdl_problem_class *a, const kdl_problem_class *b);

#endif
