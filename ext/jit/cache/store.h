/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The cache on disk: link keys and their images, limited in size, with LRU eviction.
 *
 * Many processes on many machines may use one folder without locks. An entry is written to a
 * temporary file and renamed, so a reader finds a complete file or none. Entries are checked before
 * they are used.
 *
 * Where machines share a folder, one may see another's file before its contents, or not see a
 * complete one yet. Both are only a miss: a damaged entry there is not removed until it is too old
 * to be in transit.
 */
#ifndef KDL_EXT_JIT_CACHE_STORE_H
#define KDL_EXT_JIT_CACHE_STORE_H

#include "ext/jit/cache/files.h"
#include "support/system/cache_settings.h"

typedef struct kdl_cache_hit {
  kdl_cache_entry entry; /* points into `data`; a NUL follows that no size counts */
  void *data;
} kdl_cache_hit;

/* The entry of the link key. KDL_NO_MATCH where there is none. Other failures report why the entry
 * is unusable; unless the cache is read-only, a damaged one is removed. The caller frees
 * *out_found. */
kdl_status kdl_cache_find(const kdl_cache_settings *settings, kdl_string link_key,
                          kdl_cache_hit *out_found);
void kdl_cache_hit_free(kdl_cache_hit *found);

/* Adds or replaces the entry of a link key, then evicts the oldest entries until the others fit the
 * limit. Must not be called where the cache is read-only or off. */
kdl_status kdl_cache_store(const kdl_cache_settings *settings, const kdl_cache_entry *entry);

/* Removes an entry, if there is one. */
void kdl_cache_remove(const kdl_cache_settings *settings, kdl_string link_key);

/* The file name of a link key's entry, with a suffix. */
void kdl_cache_name(kdl_string link_key, const char *suffix, char name[KDL_CACHE_NAME]);

/* Reads and checks one file of the folder as an entry. The caller frees *out_found. */
kdl_status kdl_cache_read(int folder, kdl_cache_sharing sharing, const char *name,
                          kdl_cache_hit *out_found);

#endif
