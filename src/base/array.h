/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arrays that grow by doubling. */
#ifndef KDL_BASE_ARRAY_H
#define KDL_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

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

#endif
