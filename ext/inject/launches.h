/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counting launches: each thread remembers the counters of a few kernels by their handles. */
#ifndef KDL_INJECT_LAUNCHES_H
#define KDL_INJECT_LAUNCHES_H

#include "ext/inject/recording.h"

#include <stddef.h>

typedef struct kdl_cached_count {
  const void *function;
  kdl_launch_count *count;
  unsigned generation;
} kdl_cached_count;

enum { KDL_CACHED_COUNTS = 64 };
extern _Thread_local kdl_cached_count kdl_cached_counts[KDL_CACHED_COUNTS];

/* The counter of a kernel that this thread has launched; NULL where it is not remembered. */
static inline kdl_launch_count *kdl_launch_find(const void *function) {
  uintptr_t bits = (uintptr_t)function;
  const kdl_cached_count *at = &kdl_cached_counts[(bits >> 4 ^ bits >> 10) % KDL_CACHED_COUNTS];
  unsigned now = atomic_load_explicit(&kdl_record_generation, memory_order_relaxed);
  return at->function == function && at->generation == now ? at->count : NULL;
}

static inline void kdl_launch_add(kdl_launch_count *count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Counts the first launch of a kernel by this thread, and records the load call that its handle
 * comes from. */
void kdl_launch_first(const void *function, const char *kernel);

#endif
