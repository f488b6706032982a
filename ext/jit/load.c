/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table by which the library calls ext/jit. */
#include "ext/jit/bitcode.h"
#include "lib/hooks.h"
#include "support/base/error.h"
#include "support/base/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { limit_constants = 256, limit_text = 4096 };

static kdl_status validate_constant(const kdl_constant *constant) {
  const char *name = constant->name ? constant->name : "";
  const char *value = constant->value ? constant->value : "";
  if (!*name || strpbrk(name, "=\n") || strlen(name) > limit_text)
    return kdl_fail(KDL_BAD_CALL, "constants: found the name \"%.128s\", expected an identifier",
                    name);
  if (!*value || strchr(value, '\n') || strlen(value) > limit_text)
    return kdl_fail(KDL_BAD_CALL,
                    "constants: %.128s: found the value \"%.128s\", expected a number", name,
                    value);
  return KDL_OK;
}

static int compare_constant_names(const void *left, const void *right) {
  const kdl_constant *const *a = left;
  const kdl_constant *const *b = right;
  return strcmp((*a)->name, (*b)->name);
}

static kdl_status sort_constants(const kdl_constant *constants, size_t count,
                                 const kdl_constant *out_sorted[limit_constants]) {
  for (size_t i = 0; i < count; ++i) {
    kdl_status status = validate_constant(&constants[i]);
    if (status != KDL_OK)
      return status;
    out_sorted[i] = &constants[i];
  }
  qsort(out_sorted, count, sizeof *out_sorted, compare_constant_names);
  for (size_t i = 1; i < count; ++i) {
    if (strcmp(out_sorted[i]->name, out_sorted[i - 1]->name) == 0)
      return kdl_fail(KDL_BAD_CALL, "constants: found \"%.128s\" twice, expected each once",
                      out_sorted[i]->name);
  }
  return KDL_OK;
}

static kdl_status print_constants(const kdl_constant *constants, size_t count, char **out_text) {
  const kdl_constant *sorted[limit_constants];
  char *text = NULL;
  size_t size;
  if (count == 0) {
    *out_text = NULL;
    return KDL_OK;
  }
  if (count > limit_constants)
    return kdl_fail(KDL_BAD_CALL, "constants: found %zu, expected at most %d", count,
                    limit_constants);
  KDL_TRY(sort_constants(constants, count, sorted));
  FILE *out = kdl_text_stream(&text, &size);
  for (size_t i = 0; out && i < count; ++i)
    fprintf(out, "const %s=%s\n", sorted[i]->name, sorted[i]->value);
  if (!out || fclose(out) != 0) {
    free(text);
    return kdl_fail(KDL_NO_MEMORY, "out of memory for constants");
  }
  *out_text = text;
  return KDL_OK;
}

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

static const kdl_jit_hooks hooks = {.print_constants = print_constants,
                                    .load = jit_load_bitcode,
                                    .is_cached = kdl_bitcode_is_cached};
const kdl_jit_hooks *const kdl_jit = &hooks;
