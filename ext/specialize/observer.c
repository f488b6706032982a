/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/specialize/observer.h"

#include <string.h>

static uint32_t all_words(const kdl_observer *observer) {
  return (1u << observer->word_count) - 1;
}

static void begin_round(kdl_observer *observer) {
  observer->mask = all_words(observer);
  observer->row_count = 0;
}

void kdl_observer_init(kdl_observer *observer, size_t word_count, uint32_t repeats) {
  *observer = (kdl_observer){.word_count = word_count, .repeats = repeats};
  begin_round(observer);
}

static bool is_equal(const kdl_observer *observer, const uint64_t *a, const uint64_t *b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < observer->word_count; ++i)
    difference |= observer->mask >> i & 1 ? a[i] ^ b[i] : 0;
  return difference == 0;
}

static kdl_observer_row *find_row(kdl_observer *observer, const uint64_t *words) {
  for (size_t i = 0; i < observer->row_count; ++i) {
    if (is_equal(observer, observer->rows[i].words, words))
      return &observer->rows[i];
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* A full table                                                                                 */

static size_t count_values(const kdl_observer *observer, size_t word) {
  size_t count = 0;
  for (size_t i = 0; i < observer->row_count; ++i) {
    size_t before = 0;
    while (before < i && observer->rows[before].words[word] != observer->rows[i].words[word])
      ++before;
    count += before == i;
  }
  return count;
}

/* Of words with equally many values, the last: authors name the most important first. */
static void drop_word(kdl_observer *observer) {
  size_t most = 0, worst = 0;
  for (size_t word = 0; word < observer->word_count; ++word) {
    size_t count = observer->mask >> word & 1 ? count_values(observer, word) : 0;
    if (count && count >= most) {
      most = count;
      worst = word;
    }
  }
  observer->mask &= ~(1u << worst);
  observer->dropped |= 1u << worst;
}

static void merge_rows(kdl_observer *observer) {
  size_t count = observer->row_count;
  observer->row_count = 0;
  for (size_t i = 0; i < count; ++i) {
    kdl_observer_row row = observer->rows[i];
    kdl_observer_row *same = find_row(observer, row.words);
    if (same)
      same->times += row.times;
    else
      observer->rows[observer->row_count++] = row;
  }
}

/* Where values that repeat were found, those that are rare keep the general kernel. */
static void evict_row(kdl_observer *observer) {
  size_t least = observer->row_count;
  for (size_t i = 0; i < observer->row_count; ++i) {
    if (!observer->rows[i].is_folded &&
        (least == observer->row_count || observer->rows[i].times < observer->rows[least].times))
      least = i;
  }
  if (least < observer->row_count)
    observer->rows[least] = observer->rows[--observer->row_count];
}

static void make_room(kdl_observer *observer) {
  if (observer->folded) {
    evict_row(observer);
    return;
  }
  drop_word(observer);
  merge_rows(observer);
}

/* All values vary: maybe only at the start of the program. */
static kdl_observation end_round(kdl_observer *observer) {
  uint32_t pause = KDL_OBSERVER_PAUSE;
  for (uint32_t i = 0; i < observer->rounds; ++i)
    pause *= 10;
  observer->pause = pause;
  begin_round(observer);
  return ++observer->rounds == KDL_OBSERVER_ROUNDS ? KDL_OBSERVE_END : KDL_OBSERVE_MORE;
}

/* ------------------------------------------------------------------------------------------ */

kdl_observation kdl_observer_add(kdl_observer *observer, const uint64_t *words, uint32_t *out_mask,
                                 uint32_t *out_times) {
  if (++observer->seen >= KDL_OBSERVER_MOST || observer->folded == KDL_SPECIALIZED_LIMIT)
    return KDL_OBSERVE_END;
  if (observer->pause) {
    --observer->pause;
    return KDL_OBSERVE_MORE;
  }
  kdl_observer_row *row = find_row(observer, words);
  while (!row && observer->row_count == KDL_OBSERVER_ROWS) {
    make_room(observer);
    if (!observer->mask)
      return end_round(observer);
    row = find_row(observer, words);
  }
  if (!row) {
    row = &observer->rows[observer->row_count++];
    *row = (kdl_observer_row){.times = 0};
    memcpy(row->words, words, observer->word_count * sizeof *words);
  }
  ++row->times;
  if (row->is_folded || row->times < observer->repeats)
    return KDL_OBSERVE_MORE;
  row->is_folded = true;
  ++observer->folded;
  *out_mask = observer->mask;
  *out_times = row->times;
  return KDL_OBSERVE_FOLD;
}
