/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which memory of a device is libkdl's own, and since when. */
#ifndef KDL_BACKENDS_COMMON_RANGES_H
#define KDL_BACKENDS_COMMON_RANGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct kdl_ranges {
  /* A cache of libkdl's addresses keeps this too: it counts what was removed, since
   * the next allocation may get the same address. Begins with 1. */
  _Atomic uint64_t generation;
  _Atomic uint64_t serial; /* of what was added last */
  pthread_mutex_t lock;
  void *root; /* of search.h's tree */
} kdl_ranges;

void kdl_ranges_init(kdl_ranges *ranges);
void kdl_ranges_destroy(kdl_ranges *ranges); /* one that holds nothing */

/* False when out of memory. */
bool kdl_ranges_add(kdl_ranges *ranges, uint64_t start, uint64_t size);

/* False where none starts there. To be called before the memory goes: who sees the old generation
 * still has it. */
bool kdl_ranges_remove(kdl_ranges *ranges, uint64_t start);

/* Whether the address lies in one that was there when `serial` was the last. */
bool kdl_ranges_contain(kdl_ranges *ranges, uint64_t word, uint64_t serial);

#endif
