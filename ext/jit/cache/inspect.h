/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Looking at the cache from outside: what `kdl cache` shows and does. */
#ifndef KDL_CACHE_INSPECT_H
#define KDL_CACHE_INSPECT_H

#include "ext/jit/cache/store.h"

typedef struct kdl_cache_checked_entry {
  const kdl_cache_file *file;
  const kdl_cache_entry *entry; /* NULL where the file is no good entry ... */
  const char *error;            /* ... and why */
} kdl_cache_checked_entry;

/* Reads and checks every entry, the least recently used first. A folder that is not there holds
 * none. */
kdl_status kdl_cache_check_entries(const kdl_cache_settings *settings,
                                   kdl_status (*visit)(void *user,
                                                       const kdl_cache_checked_entry *checked),
                                   void *user);

typedef struct kdl_cache_totals {
  size_t entries;
  uint64_t bytes; /* of the entries */
  size_t other;   /* temporary files and locks */
  uint64_t other_bytes;
} kdl_cache_totals;

kdl_status kdl_cache_count(const kdl_cache_settings *settings, kdl_cache_totals *out_totals);

/* Removes every entry, and whatever else the cache has made; *out_totals is what went. */
kdl_status kdl_cache_clear(const kdl_cache_settings *settings, kdl_cache_totals *out_totals);

#endif
