/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lookup by portable keys: in the cache tiers, which other machines share or somebody filled in
 * advance, and in the machine's own folder, where `kdl cache import` puts such entries
 * (docs/cache.md). */
#ifndef KDL_EXT_JIT_TIERED_CACHE_H
#define KDL_EXT_JIT_TIERED_CACHE_H

#include "ext/jit/cache/claim.h"
#include "ext/jit/cache/store.h"

typedef struct kdl_tiered_cache {
  kdl_cache_settings local; /* off: not searched */
  kdl_cache_tiers tiers;
  char *key; /* portable */
  size_t key_length;
  const kdl_cache_settings *hit_tier; /* where an entry was found, or NULL */
  kdl_cache_lease lease;
} kdl_tiered_cache;

/* NULL where there is no folder to search. */
kdl_tiered_cache *kdl_tiered_cache_open(const kdl_cache_settings *local, kdl_string link_key);
void kdl_tiered_cache_close(kdl_tiered_cache *tiered);

/* The first valid entry in the own folder and the tiers. The caller frees *out_found. */
bool kdl_tiered_cache_find(kdl_tiered_cache *tiered, kdl_cache_hit *out_found);

/* Where there is a shared tier: waits for a machine that is linking the entry and finds its result,
 * or takes the lease for this one. */
bool kdl_tiered_cache_wait(kdl_tiered_cache *tiered, int64_t milliseconds,
                           kdl_cache_hit *out_found);

/* Removes the entry that was found, where its folder is writable. */
void kdl_tiered_cache_evict(const kdl_tiered_cache *tiered);

/* Stores an entry of this machine's cache in the shared tiers; returns the status of the last one
 * that failed. */
kdl_status kdl_tiered_cache_store(const kdl_tiered_cache *tiered, const kdl_cache_entry *entry);

#endif
