/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/launches.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

_Thread_local kdl_cached_count kdl_cached_counts[KDL_CACHED_HASHES][KDL_CACHED_WAYS];

/* The oldest of its hash gives way. */
static void remember(const void *function, kdl_launch_count *count, unsigned generation) {
  kdl_cached_count *at = kdl_cached_counts[kdl_launch_hash(function)];
  memmove(&at[1], &at[0], (KDL_CACHED_WAYS - 1) * sizeof *at);
  at[0] = (kdl_cached_count){function, count, generation};
}

void kdl_launch_first(const void *function, const char *kernel) {
  unsigned generation = atomic_load(&kdl_record_generation);
  kdl_launch_count *count = kdl_record_kernel(kernel);
  uint32_t load = kdl_handle_load(function);
  char room[4096];
  if (load && atomic_load(count) == 0)
    kdl_record("launched\t%u\t%s", load, kdl_record_text(kernel, room, sizeof room));
  remember(function, count, generation);
  kdl_launch_add(count);
}

/* ------------------------------------------------------------------------------------------ */
/* Handles                                                                                      */

enum { slot_count = 1 << 18 }; /* the table is never more than half full */

typedef struct {
  const void *handle;
  char *name; /* of a kernel, or NULL */
  uint32_t load;
} slot;

static slot slots[slot_count];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of a fork finds the lock free. */
static void take_lock(void) {
  pthread_mutex_lock(&lock);
}

static void free_lock(void) {
  pthread_mutex_unlock(&lock);
}

static void follow_forks(void) {
  pthread_atfork(take_lock, free_lock, free_lock);
}

uint32_t kdl_load_number(void) {
  static atomic_uint last;
  return atomic_fetch_add(&last, 1) + 1;
}

/* The handle's slot, or the free one where it would be. */
static slot *find_slot(const void *handle) {
  size_t at = (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 20) % slot_count;
  while (slots[at].handle && slots[at].handle != handle)
    at = (at + 1) % slot_count;
  return &slots[at];
}

void kdl_handle_set(const void *handle, uint32_t load, const char *name) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, follow_forks);
  take_lock();
  slot *to = find_slot(handle);
  if (handle && (to->handle || used < slot_count / 2)) {
    bool is_same = name && to->name && strcmp(name, to->name) == 0;
    used += !to->handle;
    /* Other threads may have the old name: it is not freed. */
    *to = (slot){handle, is_same ? to->name : name ? strdup(name) : NULL, load};
  }
  free_lock();
}

uint32_t kdl_handle_load(const void *handle) {
  take_lock();
  uint32_t load = handle ? find_slot(handle)->load : 0;
  free_lock();
  return load;
}

const char *kdl_handle_name(const void *handle) {
  take_lock();
  const char *name = handle ? find_slot(handle)->name : NULL;
  free_lock();
  return name;
}
