/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays that grow by doubling; binary search and sorting. */
#ifndef KDL_SUPPORT_BASE_ARRAY_H
#define KDL_SUPPORT_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the array with room for one more than `count` items of `size` bytes. A full array is
 * reallocated and *capacity doubled (`first` for an empty one). NULL when out of memory; the old
 * array is then unchanged. */
static inline void *kdl_array_grow(void *items, size_t count, size_t *capacity, size_t first,
                                   size_t size) {
  if (count < *capacity)
    return items;
  size_t more = *capacity ? *capacity * 2 : first;
  void *moved = realloc(items, more * size);
  if (moved)
    *capacity = more;
  return moved;
}

/* Items of `size` bytes are sorted by the 64-bit number at `offset` in each. Returns the index of
 * the first whose number is at least `number`, or `count`. */
static inline size_t kdl_array_lower_bound(const void *items, size_t count, size_t size,
                                           size_t offset, uint64_t number) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    uint64_t found;
    memcpy(&found, (const char *)items + middle * size + offset, sizeof found);
    if (found < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ------------------------------------------------------------------------------------------ */
/* Sorting                                                                                      */

static inline int kdl_array_compare(const void *left, const void *right, void *offset) {
  uint64_t a, b;
  memcpy(&a, (const char *)left + *(const size_t *)offset, sizeof a);
  memcpy(&b, (const char *)right + *(const size_t *)offset, sizeof b);
  return (a > b) - (a < b);
}

/* Sorts elements as kdl_array_lower_bound expects them. */
static inline void kdl_array_sort(void *items, size_t count, size_t size, size_t offset) {
  if (count)
    qsort_r(items, count, size, kdl_array_compare, &offset);
}

/* qsort for lists that are usually short: a few elements are sorted in place without a call. */
static inline void kdl_sort(void *elements, size_t count, size_t size,
                            int (*compare)(const void *left, const void *right)) {
  enum { few = 16, largest = 64 };
  char *list = elements, element[largest];
  if (count > few || size > largest) {
    qsort(elements, count, size, compare);
    return;
  }
  for (size_t i = 1; i < count; ++i) {
    size_t to = i;
    while (to > 0 && compare(list + (to - 1) * size, list + i * size) > 0)
      --to;
    if (to == i)
      continue;
    memcpy(element, list + i * size, size);
    memmove(list + (to + 1) * size, list + to * size, (i - to) * size);
    memcpy(list + to * size, element, size);
  }
}

#endif
