/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table by which the library calls ext/jit. */
#include "ext/jit/bitcode.h"
#include "ext/jit/constants.h"
#include "lib/hooks.h"
#include "support/base/error.h"

#include <stdlib.h>

static kdl_status link_traced(const kdl_link_task *task, kdl_link_cache_use cache_use,
                              const kdl_trace_phase_info *info, kdl_linked_image *linked) {
  kdl_trace_phase_begin(KDL_TRACE_PHASE_LINK);
  kdl_status status = kdl_bitcode_link(task, cache_use, linked);
  kdl_trace_phase_info done = *info;
  done.bytes = status == KDL_OK ? linked->size : 0;
  done.failed = status != KDL_OK;
  kdl_trace_phase_end(KDL_TRACE_PHASE_LINK, &done);
  return status;
}

static kdl_status link_and_load(const kdl_link_task *task, kdl_link_cache_use cache_use,
                                const kdl_trace_phase_info *info, kdl_linked_load *load, void *user,
                                void **out_memory, bool *out_was_cached) {
  kdl_linked_image *linked = malloc(sizeof *linked);
  if (!linked)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  kdl_status status = link_traced(task, cache_use, info, linked);
  *out_was_cached = status == KDL_OK && linked->is_cached;
  if (status == KDL_OK) {
    status = load(user, linked->kind, linked->image, linked->size);
    if (status == KDL_OK) {
      (void)kdl_linked_image_store(linked);
      *out_memory = kdl_linked_image_release_data(linked);
    } else if (*out_was_cached && status != KDL_NO_MEMORY) {
      kdl_linked_image_evict(linked);
    }
  }
  kdl_linked_image_free(linked);
  free(linked);
  return status;
}

static kdl_status jit_load_bitcode(const kdl_link_task *task, const kdl_trace_phase_info *info,
                                   kdl_linked_load *load, void *user, void **out_memory) {
  bool was_cached = false;
  kdl_status status =
      link_and_load(task, KDL_LINK_USE_CACHE, info, load, user, out_memory, &was_cached);
  if (status != KDL_OK && status != KDL_NO_MEMORY && was_cached)
    status = link_and_load(task, KDL_LINK_BYPASS_CACHE, info, load, user, out_memory, &was_cached);
  return status;
}

static const kdl_jit_hooks hooks = {.print_constants = kdl_constants_print,
                                    .load = jit_load_bitcode,
                                    .is_cached = kdl_bitcode_is_cached};
const kdl_jit_hooks *const kdl_jit = &hooks;
