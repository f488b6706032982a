/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matches libraries whose places differ by the kernels that they have in common, as a library for
 * CUDA 12.9 and the one for 13.2 that replaces it: those with the most kernels in common first. */
#include "pack/diff/diff.h"

#include <stdlib.h>

enum { most_pairs = 1 << 20 };

typedef struct {
  uint64_t key; /* name and target */
  uint32_t library;
  int side;
} holder;

static int compare_holders(const void *left, const void *right) {
  const holder *a = left, *b = right;
  if (a->key != b->key)
    return a->key < b->key ? -1 : 1;
  if (a->side != b->side)
    return a->side - b->side;
  return (a->library > b->library) - (a->library < b->library);
}

/* The kernels of libraries that are not matched, each once for each library. */
static size_t list_holders(const diff *d, holder *holders) {
  size_t count = 0, kept = 0;
  for (int side = 0; side < DIFF_SIDES; ++side) {
    const diff_side *of = &d->sides[side];
    for (size_t i = 0; i < of->kernel_count; ++i) {
      const diff_kernel *kernel = &of->kernels[i];
      if (!of->libraries[kernel->library].is_matched)
        holders[count++] =
            (holder){(uint64_t)d->names.items[kernel->name].key << 16 | kernel->target,
                     kernel->library, side};
    }
  }
  if (count)
    qsort(holders, count, sizeof *holders, compare_holders);
  for (size_t i = 0; i < count; ++i) {
    if (!kept || compare_holders(&holders[kept - 1], &holders[i]) != 0)
      holders[kept++] = holders[i];
  }
  return kept;
}

/* `shared` has a row for each old library, and a column for each new one. */
static void count_shared(const diff *d, const holder *holders, size_t count, uint32_t *shared) {
  size_t columns = d->sides[DIFF_NEW].library_count;
  for (size_t from = 0, to; from < count; from = to) {
    size_t middle = from;
    while (middle < count && holders[middle].key == holders[from].key &&
           holders[middle].side == DIFF_OLD)
      ++middle;
    for (to = middle; to < count && holders[to].key == holders[from].key; ++to)
      continue;
    for (size_t i = from; i < middle; ++i) {
      for (size_t k = middle; k < to; ++k)
        ++shared[holders[i].library * columns + holders[k].library];
    }
  }
}

static bool take_best(diff *d, const uint32_t *shared, uint32_t *scopes) {
  size_t columns = d->sides[DIFF_NEW].library_count;
  diff_library *best[DIFF_SIDES] = {NULL, NULL};
  uint32_t most = 0;
  for (size_t i = 0; i < d->sides[DIFF_OLD].library_count; ++i) {
    diff_library *old = &d->sides[DIFF_OLD].libraries[i];
    for (size_t k = 0; k < columns && !old->is_matched; ++k) {
      diff_library *new = &d->sides[DIFF_NEW].libraries[k];
      uint32_t common = shared[i * columns + k];
      size_t least = old->kernel_count < new->kernel_count ? old->kernel_count : new->kernel_count;
      if (new->is_matched || common <= most || (size_t)common * 2 < least)
        continue;
      best[DIFF_OLD] = old;
      best[DIFF_NEW] = new;
      most = common;
    }
  }
  if (!most)
    return false;
  best[DIFF_OLD]->scope = best[DIFF_NEW]->scope = ++*scopes;
  best[DIFF_OLD]->is_matched = best[DIFF_NEW]->is_matched = true;
  return true;
}

void diff_match_by_overlap(diff *d, uint32_t *scopes) {
  const diff_side *old = &d->sides[DIFF_OLD], *new = &d->sides[DIFF_NEW];
  if (!old->library_count || !new->library_count ||
      old->library_count > most_pairs / new->library_count)
    return;
  uint32_t *shared = xcalloc(old->library_count * new->library_count, sizeof *shared);
  holder *holders = xcalloc(old->kernel_count + new->kernel_count + 1, sizeof *holders);
  count_shared(d, holders, list_holders(d, holders), shared);
  free(holders);
  while (take_best(d, shared, scopes))
    continue;
  free(shared);
}
