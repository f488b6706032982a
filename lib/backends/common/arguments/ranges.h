/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ranges of a device's memory that libkdl allocated, with their age. */
#ifndef KDL_LIB_BACKENDS_COMMON_ARGUMENTS_RANGES_H
#define KDL_LIB_BACKENDS_COMMON_ARGUMENTS_RANGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct kdl_ranges {
  /* Counts removals, starting with 1. A cache of libkdl's addresses stores it, because the next
   * allocation may get the same address. */
  _Atomic uint64_t generation;
  _Atomic uint64_t serial; /* of the range added last */
  pthread_mutex_t lock;
  void *root; /* of search.h's tree */
} kdl_ranges;

void kdl_ranges_init(kdl_ranges *ranges);
void kdl_ranges_destroy(kdl_ranges *ranges); /* must be empty */

/* False when out of memory. */
bool kdl_ranges_add(kdl_ranges *ranges, uint64_t start, uint64_t size);

/* False where no range starts there. Call it before the memory is freed: with the old generation,
 * the memory still exists. */
bool kdl_ranges_remove(kdl_ranges *ranges, uint64_t start);

/* Whether the address is in a range that existed when `serial` was the last. */
bool kdl_ranges_contain(kdl_ranges *ranges, uint64_t word, uint64_t serial);

#endif
