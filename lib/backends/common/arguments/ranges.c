/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libkdl's own memory: disjoint ranges in the C library's balanced tree. */
#include "lib/backends/common/arguments/ranges.h"

#include <search.h>
#include <stdlib.h>

typedef struct {
  uint64_t start;
  uint64_t size;
  uint64_t serial;
} range;

/* Overlapping ranges compare as equal, so that an address finds its range. */
static int compare_ranges(const void *left, const void *right) {
  const range *a = left;
  const range *b = right;
  if (a->start < b->start)
    return b->start - a->start >= a->size ? -1 : 0;
  return a->start - b->start >= b->size ? 1 : 0;
}

void kdl_ranges_init(kdl_ranges *ranges) {
  *ranges = (kdl_ranges){.root = NULL};
  atomic_init(&ranges->generation, 1);
  pthread_mutex_init(&ranges->lock, NULL);
}

void kdl_ranges_destroy(kdl_ranges *ranges) {
  pthread_mutex_destroy(&ranges->lock);
}

bool kdl_ranges_add(kdl_ranges *ranges, uint64_t start, uint64_t size) {
  range *added = malloc(sizeof *added);
  if (!added)
    return false;
  pthread_mutex_lock(&ranges->lock);
  *added = (range){start, size, atomic_fetch_add(&ranges->serial, 1) + 1};
  range **found = tsearch(added, &ranges->root, compare_ranges);
  bool is_new = found && *found == added;
  pthread_mutex_unlock(&ranges->lock);
  if (!is_new)
    free(added);
  return found != NULL;
}

bool kdl_ranges_remove(kdl_ranges *ranges, uint64_t start) {
  range key = {start, 1, 0};
  pthread_mutex_lock(&ranges->lock);
  range **found = tfind(&key, &ranges->root, compare_ranges);
  range *removed = found && (*found)->start == start ? *found : NULL;
  if (removed) {
    tdelete(removed, &ranges->root, compare_ranges);
    atomic_fetch_add(&ranges->generation, 1);
  }
  pthread_mutex_unlock(&ranges->lock);
  free(removed);
  return removed != NULL;
}

bool kdl_ranges_contain(kdl_ranges *ranges, uint64_t word, uint64_t serial) {
  range key = {word, 1, 0};
  pthread_mutex_lock(&ranges->lock);
  range **found = tfind(&key, &ranges->root, compare_ranges);
  bool held = found && (*found)->serial <= serial;
  pthread_mutex_unlock(&ranges->lock);
  return held;
}
