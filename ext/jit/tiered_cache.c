/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/tiered_cache.h"

#include "ext/jit/identity.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <stdlib.h>

static kdl_string portable_key(const kdl_tiered_cache *tiered) {
  return (kdl_string){tiered->key, tiered->key_length};
}

kdl_tiered_cache *kdl_tiered_cache_open(const kdl_cache_settings *local, kdl_string link_key) {
  kdl_tiered_cache *tiered = calloc(1, sizeof *tiered);
  if (!tiered)
    return NULL;
  tiered->local = *local;
  if (kdl_cache_tiers_read(&tiered->tiers) != KDL_OK)
    tiered->tiers.count = 0;
  if (local->mode != KDL_CACHE_OFF || tiered->tiers.count) {
    if (kdl_portable_key(link_key, &tiered->key, &tiered->key_length) == KDL_OK)
      return tiered;
    kdl_debug(KDL_DEBUG_LINK, "cache: only entries of this machine are used: %s",
              kdl_error_message());
  }
  kdl_tiered_cache_close(tiered);
  return NULL;
}

void kdl_tiered_cache_close(kdl_tiered_cache *tiered) {
  if (!tiered)
    return;
  kdl_cache_lease_release(&tiered->lease);
  free(tiered->key);
  free(tiered);
}

static bool find_in_tier(kdl_tiered_cache *tiered, const kdl_cache_settings *tier,
                         kdl_cache_hit *out_found) {
  kdl_status status = kdl_cache_find(tier, portable_key(tiered), out_found);
  if (status != KDL_OK) {
    if (status != KDL_NO_MATCH)
      kdl_debug(KDL_DEBUG_LINK, "cache: %s", kdl_error_message());
    return false;
  }
  if (kdl_portable_notes_are_current(out_found->entry.notes)) {
    kdl_debug(KDL_DEBUG_LINK, "cache: found in %s", tier->dir);
    tiered->hit_tier = tier;
    return true;
  }
  kdl_debug(KDL_DEBUG_LINK, "cache: %s: the entry was made with files that are others here",
            tier->dir);
  kdl_cache_hit_free(out_found);
  return false;
}

bool kdl_tiered_cache_find(kdl_tiered_cache *tiered, kdl_cache_hit *out_found) {
  if (tiered->local.mode != KDL_CACHE_OFF && find_in_tier(tiered, &tiered->local, out_found))
    return true;
  for (size_t i = 0; i < tiered->tiers.count; ++i) {
    if (find_in_tier(tiered, &tiered->tiers.items[i], out_found))
      return true;
  }
  return false;
}

void kdl_tiered_cache_evict(const kdl_tiered_cache *tiered) {
  if (tiered->hit_tier && tiered->hit_tier->mode == KDL_CACHE_ON)
    kdl_cache_remove(tiered->hit_tier, portable_key(tiered));
}

typedef struct {
  kdl_tiered_cache *tiered;
  const kdl_cache_settings *tier;
  kdl_cache_hit *found;
} tier_search;

static bool entry_is_stored(void *user) {
  const tier_search *at = user;
  return find_in_tier(at->tiered, at->tier, at->found);
}

bool kdl_tiered_cache_wait(kdl_tiered_cache *tiered, int64_t milliseconds,
                           kdl_cache_hit *out_found) {
  for (size_t i = 0; i < tiered->tiers.count; ++i) {
    const kdl_cache_settings *tier = &tiered->tiers.items[i];
    tier_search at = {tiered, tier, out_found};
    if (tier->sharing == KDL_CACHE_SHARED)
      return kdl_cache_lease_acquire(tier, portable_key(tiered), KDL_CACHE_LEASE_MS, milliseconds,
                                     entry_is_stored, &at, &tiered->lease);
  }
  return false;
}

static bool has_shared_tier(const kdl_tiered_cache *tiered) {
  for (size_t i = 0; i < tiered->tiers.count; ++i) {
    if (tiered->tiers.items[i].sharing == KDL_CACHE_SHARED)
      return true;
  }
  return false;
}

/* A network file system may have shown a file in another state than the one that was linked; under
 * a wrong key, all machines would find the entry. */
static kdl_status check_portable_key(const kdl_tiered_cache *tiered, kdl_string link_key) {
  char *now = NULL;
  size_t length;
  kdl_status status = kdl_portable_key(link_key, &now, &length);
  if (status == KDL_OK && !kdl_text_equal((kdl_string){now, length}, portable_key(tiered)))
    status = kdl_fail(KDL_IO, "what it was linked of was changed meanwhile");
  free(now);
  return status;
}

kdl_status kdl_tiered_cache_store(const kdl_tiered_cache *tiered, const kdl_cache_entry *entry) {
  kdl_cache_entry portable = *entry;
  char *notes = NULL;
  size_t length = 0;
  if (!has_shared_tier(tiered))
    return KDL_OK;
  kdl_status status = check_portable_key(tiered, entry->link_key);
  if (status == KDL_OK)
    status = kdl_portable_notes(entry->notes, &notes, &length);
  portable.link_key = portable_key(tiered);
  portable.notes = (kdl_string){notes, length};
  if (status != KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "cache: not shared: %s", kdl_error_message());
  bool is_known = status == KDL_OK;
  for (size_t i = 0; is_known && i < tiered->tiers.count; ++i) {
    const kdl_cache_settings *tier = &tiered->tiers.items[i];
    if (tier->sharing != KDL_CACHE_SHARED)
      continue;
    kdl_status stored = kdl_cache_store(tier, &portable);
    if (stored == KDL_OK) {
      kdl_debug(KDL_DEBUG_LINK, "cache: kept in %s", tier->dir);
    } else {
      kdl_debug(KDL_DEBUG_LINK, "cache: not kept: %s", kdl_error_message());
      status = stored;
    }
  }
  free(notes);
  return status;
}
