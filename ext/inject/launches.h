/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counting launches: each thread remembers the counters of a few kernels by their handles. */
#ifndef KDL_EXT_INJECT_LAUNCHES_H
#define KDL_EXT_INJECT_LAUNCHES_H

#include "ext/inject/recording.h"

#include <stddef.h>
#include <stdint.h>

typedef struct kdl_cached_count {
  const void *function;
  kdl_launch_count *count;
  unsigned generation;
} kdl_cached_count;

/* A few for each hash: programs launch hundreds of kernels by turns. */
enum { KDL_CACHED_HASHES = 256, KDL_CACHED_WAYS = 4 };
extern _Thread_local kdl_cached_count kdl_cached_counts[KDL_CACHED_HASHES][KDL_CACHED_WAYS];

static inline size_t kdl_launch_hash(const void *function) {
  return (size_t)((uintptr_t)function * 0x9e3779b97f4a7c15u >> 32) % KDL_CACHED_HASHES;
}

/* The counter of a kernel that this thread has launched; NULL where it is not remembered. */
static inline kdl_launch_count *kdl_launch_find(const void *function) {
  const kdl_cached_count *at = kdl_cached_counts[kdl_launch_hash(function)];
  unsigned now = atomic_load_explicit(&kdl_record_generation, memory_order_relaxed);
  for (size_t i = 0; i < KDL_CACHED_WAYS; ++i) {
    if (at[i].function == function && at[i].generation == now)
      return at[i].count;
  }
  return NULL;
}

static inline void kdl_launch_add(kdl_launch_count *count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* Counts the first launch of a kernel by this thread, and records the load call that its handle
 * comes from. */
void kdl_launch_first(const void *function, const char *kernel);

/* ------------------------------------------------------------------------------------------ */
/* Handles: the load call that a library, module, kernel or function comes from. Any thread     */

/* The number of a new load call, from 1 on. */
uint32_t kdl_load_number(void);

/* A handle that is used again belongs to the last call that made it. `name` is that of a kernel,
 * and is copied, or NULL. */
void kdl_handle_set(const void *handle, uint32_t load, const char *name);

/* 0 where it is unknown. */
uint32_t kdl_handle_load(const void *handle);

/* NULL where it has none. It stays valid. */
const char *kdl_handle_name(const void *handle);

#endif
