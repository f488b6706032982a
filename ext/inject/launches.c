/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/launches.h"

#include "ext/inject/handles.h"

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
