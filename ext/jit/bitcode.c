/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/bitcode.h"

#include "ext/jit/identity.h"
#include "ext/jit/linker.h"
#include "lib/hooks.h"
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* From the cache                                                                               */

static kdl_string link_key_text(const kdl_link_key *key) {
  return (kdl_string){key->text, key->length};
}

static void use_cache_entry(kdl_linked_image *linked, const kdl_cache_hit *found) {
  linked->is_cached = true;
  linked->data = found->data;
  linked->kind = found->entry.kind;
  linked->image = found->entry.image;
  linked->size = found->entry.image_size;
  kdl_debug(KDL_DEBUG_LINK, "%s: in the cache: %s, %zu bytes", linked->name,
            kdl_image_kind_name(linked->kind), linked->size);
}

static bool find_cached(kdl_linked_image *linked) {
  kdl_cache_hit found;
  kdl_status status = kdl_cache_find(&linked->cache, link_key_text(&linked->key), &found);
  if (status != KDL_OK) {
    if (status != KDL_NO_MATCH)
      kdl_debug(KDL_DEBUG_LINK, "cache: %s", kdl_error_message());
    return false;
  }
  kdl_string file;
  if (kdl_identity_find_changed(found.entry.notes, &file)) {
    kdl_debug(KDL_DEBUG_LINK, "%s: the cache's answer is out of date: %.*s is another now",
              linked->name, (int)file.length, file.data);
    kdl_cache_hit_free(&found);
    return false;
  }
  use_cache_entry(linked, &found);
  return true;
}

static void read_cache_settings(kdl_linked_image *linked) {
  if (kdl_cache_settings_read(&linked->cache) == KDL_OK)
    return;
  kdl_debug(KDL_DEBUG_LINK, "cache: not used: %s", kdl_error_message());
  linked->cache.mode = KDL_CACHE_OFF;
}

/* Waits for another process that links the same key, then looks in the cache again. If the entry is
 * still missing, that process failed, and this one links without a claim: waiting for one process
 * after the other would serialize all of them. */
static bool wait_for_concurrent_link(kdl_linked_image *linked, const kdl_link_limits *limits) {
  bool waited;
  linked->claim = kdl_cache_claim_acquire(&linked->cache, link_key_text(&linked->key),
                                          limits->milliseconds, &waited);
  bool found = find_cached(linked);
  if (found || waited)
    kdl_cache_claim_release(&linked->claim);
  return found;
}

/* Stores a tier's entry in the machine's own folder. */
static void store_tier_hit(kdl_linked_image *linked, const kdl_cache_entry *found) {
  kdl_cache_entry entry = *found;
  char *notes = NULL;
  size_t length;
  bool is_recently_modified;
  if (linked->cache.mode != KDL_CACHE_ON)
    return;
  kdl_status status =
      kdl_portable_notes_to_local(found->notes, &notes, &length, &is_recently_modified);
  if (status == KDL_OK && !is_recently_modified) {
    entry.link_key = link_key_text(&linked->key);
    entry.notes = (kdl_string){notes, length};
    status = kdl_cache_store(&linked->cache, &entry);
  }
  if (status != KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "cache: %s: not kept: %s", linked->name, kdl_error_message());
  free(notes);
}

/* Looks up the portable key: in the own folder, in the tiers, or from the machine that is linking
 * it. */
static bool find_in_tiers(kdl_linked_image *linked, const kdl_link_limits *limits) {
  kdl_cache_hit found;
  if (!linked->tiered)
    return false;
  if (!kdl_tiered_cache_find(linked->tiered, &found) &&
      !kdl_tiered_cache_wait(linked->tiered, limits->milliseconds, &found))
    return false;
  store_tier_hit(linked, &found.entry);
  use_cache_entry(linked, &found);
  kdl_cache_claim_release(&linked->claim);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Linking                                                                                      */

static kdl_status use_link_output(kdl_linked_image *linked, const kdl_link_result *result) {
  linked->data = result->image;
  linked->image = result->image;
  linked->size = result->size;
  linked->kind = kdl_image_sniff(result->image, result->size);
  linked->notes = result->notes;
  memcpy(linked->uncacheable_reason, result->uncacheable_reason, sizeof linked->uncacheable_reason);
  linked->out_of_memory = result->out_of_memory;
  if (linked->kind == KDL_IMAGE_UNKNOWN || linked->kind == KDL_IMAGE_BITCODE)
    return kdl_fail(KDL_BAD_FILE, "kdl-ld wrote %zu bytes of %s, expected an image for %s",
                    linked->size, kdl_image_kind_name(linked->kind), linked->key.device);
  return KDL_OK;
}

static kdl_status run_link(const kdl_link_task *task, const kdl_link_limits *limits,
                           kdl_linked_image *linked) {
  kdl_link_result result;
  kdl_debug(KDL_DEBUG_LINK, "%s: linked by %s for %s", linked->name, linked->key.linker,
            linked->key.device);
  kdl_status status = kdl_link_run(task, &linked->key, limits, linked->name, &result);
  return status == KDL_OK ? use_link_output(linked, &result) : status;
}

kdl_status kdl_bitcode_link(const kdl_link_task *task, kdl_link_cache_use cache_use,
                            kdl_linked_image *out_linked) {
  kdl_linked_image *linked = out_linked;
  kdl_link_limits limits;
  char image[128];
  *linked = (kdl_linked_image){.claim = {.folder = -1}};
  kdl_image_name(task->lib, task->image, image, sizeof image);
  snprintf(linked->name, sizeof linked->name, "%.300s: %s", kdl_library_name(task->lib), image);
  /* Linked code may use every feature of the device. */
  kdl_device_permit_all(task->device, task->route);
  KDL_TRY(kdl_link_limits_read(&limits));
  KDL_TRY(kdl_link_key_make(task, &linked->key));
  read_cache_settings(linked);
  bool may_look = cache_use == KDL_LINK_USE_CACHE && linked->cache.mode != KDL_CACHE_OFF;
  if (may_look && find_cached(linked))
    return KDL_OK;
  if (may_look && linked->cache.mode == KDL_CACHE_ON && wait_for_concurrent_link(linked, &limits))
    return KDL_OK;
  linked->tiered = kdl_tiered_cache_open(&linked->cache, link_key_text(&linked->key));
  if (cache_use == KDL_LINK_USE_CACHE && find_in_tiers(linked, &limits))
    return KDL_OK;
  return run_link(task, &limits, linked);
}

bool kdl_bitcode_is_cached(const kdl_link_task *task) {
  kdl_linked_image *linked = calloc(1, sizeof *linked);
  if (!linked)
    return false;
  linked->claim.folder = -1;
  snprintf(linked->name, sizeof linked->name, "%s with constants", task->kernel);
  kdl_device_permit_all(task->device, task->route);
  read_cache_settings(linked);
  bool is_found = linked->cache.mode != KDL_CACHE_OFF &&
                  kdl_link_key_make(task, &linked->key) == KDL_OK && find_cached(linked);
  kdl_linked_image_free(linked);
  free(linked);
  return is_found;
}

/* ------------------------------------------------------------------------------------------ */
/* Afterwards                                                                                   */

kdl_status kdl_linked_image_store(kdl_linked_image *linked) {
  if (linked->is_cached || (linked->cache.mode != KDL_CACHE_ON && !linked->tiered))
    return KDL_OK;
  if (linked->uncacheable_reason[0]) {
    kdl_debug(KDL_DEBUG_LINK, "cache: %s: not kept: %s", linked->name, linked->uncacheable_reason);
    return linked->out_of_memory ? kdl_fail(KDL_NO_MEMORY, "%s", linked->uncacheable_reason)
                                 : KDL_OK;
  }
  kdl_cache_entry entry = {
      .link_key = link_key_text(&linked->key),
      .notes = {linked->notes, strlen(linked->notes)},
      .kind = linked->kind,
      .image = linked->image,
      .image_size = linked->size,
  };
  kdl_status shared = linked->tiered ? kdl_tiered_cache_store(linked->tiered, &entry) : KDL_OK;
  if (linked->cache.mode != KDL_CACHE_ON || shared == KDL_NO_MEMORY)
    return shared;
  kdl_status status = kdl_cache_store(&linked->cache, &entry);
  if (status == KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "cache: %s: kept in %s", linked->name, linked->cache.dir);
  else
    kdl_debug(KDL_DEBUG_LINK, "cache: %s: not kept: %s", linked->name, kdl_error_message());
  return status;
}

void kdl_linked_image_evict(kdl_linked_image *linked) {
  kdl_debug(KDL_DEBUG_LINK, "cache: %s: what was there does not load", linked->name);
  if (linked->cache.mode == KDL_CACHE_ON)
    kdl_cache_remove(&linked->cache, link_key_text(&linked->key));
  if (linked->tiered)
    kdl_tiered_cache_evict(linked->tiered);
}

void *kdl_linked_image_release_data(kdl_linked_image *linked) {
  void *data = linked->data;
  linked->data = NULL;
  return data;
}

void kdl_linked_image_free(kdl_linked_image *linked) {
  kdl_cache_claim_release(&linked->claim);
  kdl_tiered_cache_close(linked->tiered);
  kdl_link_key_free(&linked->key);
  free(linked->notes);
  free(linked->data);
}

/* ------------------------------------------------------------------------------------------ */
/* The table by which the library calls ext/jit                                                 */

/* The table by which the library calls ext/jit. */

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
