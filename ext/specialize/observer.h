/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which values of launches repeat.
 *
 * The observer has a table of the last tuples of values with the number of launches that had them.
 * A tuple that was seen `repeats` times is worth an image. A new tuple that finds the table full
 * means that some value varies: the one with the most values is left out from then on, and tuples
 * that only it distinguished become one. When all values vary, the observer pauses and begins
 * again, a few times. So it decides after a bounded number of launches, in a fixed memory.
 */
#ifndef KDL_EXT_SPECIALIZE_OBSERVER_H
#define KDL_EXT_SPECIALIZE_OBSERVER_H

#include "lib/hooks.h"

enum {
  KDL_OBSERVER_ROWS = 8,
  KDL_OBSERVER_ROUNDS = 3,
  KDL_OBSERVER_PAUSE = 1000,   /* launches; each further round waits ten times as long */
  KDL_OBSERVER_MOST = 1000000, /* launches in all */
};

typedef struct kdl_observer_row {
  uint64_t words[KDL_FOLD_WORDS];
  uint32_t times;
  bool is_folded;
} kdl_observer_row;

struct kdl_observer {
  size_t word_count;
  uint32_t repeats;
  uint32_t mask;    /* the words that have not varied too much */
  uint32_t folded;  /* images asked for */
  uint32_t rounds;  /* ended */
  uint32_t pause;   /* launches to ignore */
  uint32_t seen;    /* launches */
  uint32_t dropped; /* words that varied, in any round */
  size_t row_count;
  kdl_observer_row rows[KDL_OBSERVER_ROWS];
};

void kdl_observer_init(kdl_observer *observer, size_t word_count, uint32_t repeats);

kdl_observation kdl_observer_add(kdl_observer *observer, const uint64_t *words, uint32_t *out_mask,
                                 uint32_t *out_times);

#endif
