/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/layers.h"

#include "ext/jit/portable.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <stdlib.h>

static kdl_string key_of(const kdl_link_layers *layers) {
  return (kdl_string){layers->key, layers->key_length};
}

kdl_link_layers *kdl_link_layers_open(const kdl_cache_settings *own, kdl_string link_key) {
  kdl_link_layers *layers = calloc(1, sizeof *layers);
  if (!layers)
    return NULL;
  layers->own = *own;
  if (kdl_cache_layers_read(&layers->folders) != KDL_OK)
    layers->folders.count = 0;
  if (own->mode != KDL_CACHE_OFF || layers->folders.count) {
    if (kdl_portable_key(link_key, &layers->key, &layers->key_length) == KDL_OK)
      return layers;
    kdl_debug(KDL_DEBUG_LINK, "cache: only entries of this machine are used: %s",
              kdl_error_message());
  }
  kdl_link_layers_close(layers);
  return NULL;
}

void kdl_link_layers_close(kdl_link_layers *layers) {
  if (!layers)
    return;
  kdl_cache_lease_give_back(&layers->lease);
  free(layers->key);
  free(layers);
}

static bool find_in(kdl_link_layers *layers, const kdl_cache_settings *folder,
                    kdl_cache_found *out_found) {
  kdl_status status = kdl_cache_find(folder, key_of(layers), out_found);
  if (status != KDL_OK) {
    if (status != KDL_NO_MATCH)
      kdl_debug(KDL_DEBUG_LINK, "cache: %s", kdl_error_message());
    return false;
  }
  if (kdl_portable_holds(out_found->entry.notes)) {
    kdl_debug(KDL_DEBUG_LINK, "cache: found in %s", folder->dir);
    layers->found_in = folder;
    return true;
  }
  kdl_debug(KDL_DEBUG_LINK, "cache: %s: the entry was made with files that are others here",
            folder->dir);
  kdl_cache_found_free(out_found);
  return false;
}

bool kdl_link_layers_find(kdl_link_layers *layers, kdl_cache_found *out_found) {
  if (layers->own.mode != KDL_CACHE_OFF && find_in(layers, &layers->own, out_found))
    return true;
  for (size_t i = 0; i < layers->folders.count; ++i) {
    if (find_in(layers, &layers->folders.items[i], out_found))
      return true;
  }
  return false;
}

void kdl_link_layers_drop(const kdl_link_layers *layers) {
  if (layers->found_in && layers->found_in->mode == KDL_CACHE_ON)
    kdl_cache_remove(layers->found_in, key_of(layers));
}

typedef struct {
  kdl_link_layers *layers;
  const kdl_cache_settings *folder;
  kdl_cache_found *found;
} search;

static bool is_there(void *user) {
  const search *at = user;
  return find_in(at->layers, at->folder, at->found);
}

bool kdl_link_layers_wait(kdl_link_layers *layers, int64_t milliseconds,
                          kdl_cache_found *out_found) {
  for (size_t i = 0; i < layers->folders.count; ++i) {
    const kdl_cache_settings *folder = &layers->folders.items[i];
    search at = {layers, folder, out_found};
    if (folder->sharing == KDL_CACHE_SHARED)
      return kdl_cache_lease_take(folder, key_of(layers), KDL_CACHE_LEASE_MS, milliseconds,
                                  is_there, &at, &layers->lease);
  }
  return false;
}

static bool is_shared(const kdl_link_layers *layers) {
  for (size_t i = 0; i < layers->folders.count; ++i) {
    if (layers->folders.items[i].sharing == KDL_CACHE_SHARED)
      return true;
  }
  return false;
}

/* A file system of a network may have shown another state of a file than the one that was linked,
 * by which all machines would find it. */
static kdl_status check_key(const kdl_link_layers *layers, kdl_string link_key) {
  char *now = NULL;
  size_t length;
  kdl_status status = kdl_portable_key(link_key, &now, &length);
  if (status == KDL_OK && !kdl_text_equal((kdl_string){now, length}, key_of(layers)))
    status = kdl_fail(KDL_IO, "what it was linked of was changed meanwhile");
  free(now);
  return status;
}

kdl_status kdl_link_layers_store(const kdl_link_layers *layers, const kdl_cache_entry *entry) {
  kdl_cache_entry portable = *entry;
  char *notes = NULL;
  size_t length = 0;
  if (!is_shared(layers))
    return KDL_OK;
  kdl_status status = check_key(layers, entry->link_key);
  if (status == KDL_OK)
    status = kdl_portable_notes(entry->notes, &notes, &length);
  portable.link_key = key_of(layers);
  portable.notes = (kdl_string){notes, length};
  if (status != KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "cache: not shared: %s", kdl_error_message());
  bool is_known = status == KDL_OK;
  for (size_t i = 0; is_known && i < layers->folders.count; ++i) {
    const kdl_cache_settings *folder = &layers->folders.items[i];
    if (folder->sharing != KDL_CACHE_SHARED)
      continue;
    kdl_status stored = kdl_cache_store(folder, &portable);
    if (stored == KDL_OK) {
      kdl_debug(KDL_DEBUG_LINK, "cache: kept in %s", folder->dir);
    } else {
      kdl_debug(KDL_DEBUG_LINK, "cache: not kept: %s", kdl_error_message());
      status = stored;
    }
  }
  free(notes);
  return status;
}
