/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef kdl_mlir_range range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range *ranges; /* sorted by address; they do not overlap */
static size_t count, room;

/* The number of ranges that start at or before the address. */
static size_t below(uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool grow(void) {
  if (count < room)
    return true;
  size_t wanted = room ? room * 2 : 64;
  range *more = realloc(ranges, wanted * sizeof *more);
  if (!more)
    return false;
  ranges = more;
  room = wanted;
  return true;
}

bool kdl_mlir_range_add(const kdl_mlir_range *added) {
  pthread_mutex_lock(&lock);
  bool done = grow();
  if (done) {
    size_t at = below(added->start);
    memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof *ranges);
    ranges[at] = *added;
    ++count;
  }
  pthread_mutex_unlock(&lock);
  return done;
}

bool kdl_mlir_range_remove(uint64_t start, kdl_mlir_range *out_range) {
  pthread_mutex_lock(&lock);
  size_t at = below(start);
  bool found = at && ranges[at - 1].start == start;
  if (found) {
    *out_range = ranges[at - 1];
    memmove(&ranges[at - 1], &ranges[at], (count - at) * sizeof *ranges);
    --count;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

bool kdl_mlir_range_find(uint64_t address, kdl_mlir_range *out_range) {
  pthread_mutex_lock(&lock);
  size_t at = below(address);
  bool found = at && address - ranges[at - 1].start < ranges[at - 1].size;
  if (found)
    *out_range = ranges[at - 1];
  pthread_mutex_unlock(&lock);
  return found;
}
