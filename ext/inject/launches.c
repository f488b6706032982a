/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/launches.h"

#include "ext/inject/handles.h"

_Thread_local kdl_cached_count kdl_cached_counts[KDL_CACHED_COUNTS];

void kdl_launch_first(const void *function, const char *kernel) {
  uintptr_t bits = (uintptr_t)function;
  unsigned generation = atomic_load(&kdl_record_generation);
  kdl_launch_count *count = kdl_record_kernel(kernel);
  uint32_t load = kdl_handle_load(function);
  char room[4096];
  if (load && atomic_load(count) == 0)
    kdl_record("launched\t%u\t%s", load, kdl_record_text(kernel, room, sizeof room));
  kdl_cached_counts[(bits >> 4 ^ bits >> 10) % KDL_CACHED_COUNTS] =
      (kdl_cached_count){function, count, generation};
  kdl_launch_add(count);
}
