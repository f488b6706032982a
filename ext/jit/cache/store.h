/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The cache on disk: link keys and their images, bounded in size, the least recently
 * used going first.
 *
 * Many processes, on many machines, may use one folder. An entry is written beside and renamed, so
 * a reader finds a whole file or none; what is found is checked before it is believed; and no
 * lock is needed for any of that.
 *
 * Where machines share a folder, one may see another's file before its contents, or not yet see one
 * that is whole. So nothing follows from what is found but a miss: a damaged entry there is left
 * until it is too old to be on its way.
 */
#ifndef KDL_CACHE_STORE_H
#define KDL_CACHE_STORE_H

#include "ext/jit/cache/entry.h"
#include "ext/jit/cache/files.h"
#include "support/system/cache_settings.h"

typedef struct kdl_cache_hit {
  kdl_cache_entry entry; /* in `data`, which a NUL follows that nothing counts */
  void *data;
} kdl_cache_hit;

/* The entry of the link key. KDL_NO_MATCH where there is none; otherwise the status and
 * the message say why the one that is there is of no use, and unless the cache is read-only, one
 * that is damaged is gone. The caller frees *out_found. */
kdl_status kdl_cache_find(const kdl_cache_settings *settings, kdl_string link_key,
                          kdl_cache_hit *out_found);
void kdl_cache_hit_free(kdl_cache_hit *found);

/* Adds an entry, or replaces the one of the same link key, then lets the oldest go until the rest
 * takes no more than the limit. Must not be called where the cache is read-only or off. */
kdl_status kdl_cache_store(const kdl_cache_settings *settings, const kdl_cache_entry *entry);

/* Lets one go; nothing where there is none. */
void kdl_cache_remove(const kdl_cache_settings *settings, kdl_string link_key);

/* The name that a link key's entry has, with a suffix. */
void kdl_cache_name(kdl_string link_key, const char *suffix, char name[KDL_CACHE_NAME]);

/* Reads and checks one file of the folder as an entry. The caller frees *out_found. */
kdl_status kdl_cache_read(int folder, kdl_cache_sharing sharing, const char *name,
                          kdl_cache_hit *out_found);

#endif
