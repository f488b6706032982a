/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays that grow by doubling, and their order. */
#ifndef KDL_BASE_ARRAY_H
#define KDL_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The array with room for one more than `count` items of `size` bytes: as it is, or moved, with
 * *capacity doubled, or `first` where it was empty. NULL when out of memory; it then is as it was.
 */
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

/* In items of `size` bytes in the order of the 64-bit number that each has at `offset`: the index
 * of the first whose number is not below `number`, or `count`. */
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

/* Puts elements in the order that kdl_array_lower_bound takes. */
static inline void kdl_array_sort(void *items, size_t count, size_t size, size_t offset) {
  if (count)
    qsort_r(items, count, size, kdl_array_compare, &offset);
}

/* qsort for lists that are nearly always short: a few elements are put in order where they stand.
 */
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
