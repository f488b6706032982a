/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entries with portable keys: in the cache's folders behind the machine's own, which other machines
 * use too or somebody filled in advance, and in its own, where `kdl cache import` puts them
 * (docs/cache.md). */
#ifndef KDL_BITCODE_TIERED_CACHE_H
#define KDL_BITCODE_TIERED_CACHE_H

#include "ext/jit/cache/lease.h"
#include "ext/jit/cache/store.h"

typedef struct kdl_tiered_cache {
  kdl_cache_settings local; /* off: is not looked into */
  kdl_cache_tiers tiers;
  char *key; /* portable */
  size_t key_length;
  const kdl_cache_settings *hit_tier; /* the folder that an entry was found in, or NULL */
  kdl_cache_lease lease;
} kdl_tiered_cache;

/* NULL where there is nothing to look into. */
kdl_tiered_cache *kdl_tiered_cache_open(const kdl_cache_settings *local, kdl_string link_key);
void kdl_tiered_cache_close(kdl_tiered_cache *tiered);

/* The entry of the first folder, the own one included, that has one which holds here. The caller
 * frees *out_found. */
bool kdl_tiered_cache_find(kdl_tiered_cache *tiered, kdl_cache_hit *out_found);

/* Where there is a folder that machines share: waits for the machine that is making the entry, and
 * finds that, or makes this one the machine that does. */
bool kdl_tiered_cache_wait(kdl_tiered_cache *tiered, int64_t milliseconds,
                           kdl_cache_hit *out_found);

/* Removes the entry that was found, where its folder may be written to. */
void kdl_tiered_cache_evict(const kdl_tiered_cache *tiered);

/* Puts an entry of this machine's cache into the folders that are shared; the status is that of the
 * last one that refused. */
kdl_status kdl_tiered_cache_store(const kdl_tiered_cache *tiered, const kdl_cache_entry *entry);

#endif
