/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint64_t start, size;
} range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range *ranges; /* by address; they do not overlap */
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

bool kdl_mlir_range_add(uint64_t address, uint64_t size) {
  pthread_mutex_lock(&lock);
  bool done = grow();
  if (done) {
    size_t at = below(address);
    memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof *ranges);
    ranges[at] = (range){address, size};
    ++count;
  }
  pthread_mutex_unlock(&lock);
  return done;
}

void kdl_mlir_range_remove(uint64_t address) {
  pthread_mutex_lock(&lock);
  size_t at = below(address);
  if (at && ranges[at - 1].start == address) {
    memmove(&ranges[at - 1], &ranges[at], (count - at) * sizeof *ranges);
    --count;
  }
  pthread_mutex_unlock(&lock);
}

bool kdl_mlir_range_find(uint64_t address, uint64_t *out_start, uint64_t *out_size) {
  pthread_mutex_lock(&lock);
  size_t at = below(address);
  bool found = at && address - ranges[at - 1].start < ranges[at - 1].size;
  if (found) {
    *out_start = ranges[at - 1].start;
    *out_size = ranges[at - 1].size;
  }
  pthread_mutex_unlock(&lock);
  return found;
}
