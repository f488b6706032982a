/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* qsort for lists that are nearly always short: a few elements are put in order where they stand.
 */
#ifndef KDL_BASE_SORT_H
#define KDL_BASE_SORT_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
