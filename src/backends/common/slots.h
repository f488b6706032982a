/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arguments that were set last, for drivers that take them one by one before a launch: only those
 * that differ are set again.
 *
 * Each argument has a slot among words, where its last value is kept: first those of eight bytes,
 * then those of four, then the rest, so that most launches compare them without asking for sizes.
 */
#ifndef KDL_BACKENDS_COMMON_SLOTS_H
#define KDL_BACKENDS_COMMON_SLOTS_H

#include "backends/common/arguments.h"

#include <string.h>

typedef struct kdl_slots {
  uint16_t wide_count, word_count; /* arguments of eight and of four bytes */
  bool has_others;                 /* and of any other size, or of none that is known */
  uint16_t *order;                 /* the argument in slot i, for those two kinds */
  uint32_t count;                  /* of words */
} kdl_slots;

/* Assigns each argument its slot. False when out of memory. */
bool kdl_slots_assign(kdl_slots *slots, kdl_argument *arguments, uint32_t argument_count);
void kdl_slots_free(kdl_slots *slots);

static inline uint64_t kdl_word_at(const void *base, size_t offset) {
  uint64_t word;
  memcpy(&word, (const char *)base + offset, sizeof word);
  return word;
}

/* Zero where no argument of eight or four bytes differs from what is remembered. */
static inline __attribute__((always_inline)) uint64_t
kdl_slots_differ(const kdl_slots *slots, const uint64_t *values, const void *const *pointers) {
  const uint16_t *order = slots->order;
  uint64_t differs = 0;
  for (unsigned i = slots->wide_count; i > 0; --i)
    differs |= *values++ ^ kdl_word_at(pointers[*order++], 0);
  for (unsigned i = slots->word_count; i > 0; --i) {
    uint32_t word;
    memcpy(&word, pointers[*order++], sizeof word);
    differs |= (uint32_t)*values++ ^ word;
  }
  return differs;
}

#endif
