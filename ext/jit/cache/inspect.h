/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inspects and clears a folder of the cache, for `kdl cache`. */
#ifndef KDL_EXT_JIT_CACHE_INSPECT_H
#define KDL_EXT_JIT_CACHE_INSPECT_H

#include "ext/jit/cache/store.h"

typedef struct kdl_cache_checked_entry {
  const kdl_cache_file *file;
  const kdl_cache_entry *entry; /* NULL for a damaged entry ... */
  const char *error;            /* ... and why */
} kdl_cache_checked_entry;

/* Reads and checks every entry, the least recently used first. A folder that does not exist is
 * empty. */
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

/* Removes every entry and every other file of the cache; *out_totals counts them. */
kdl_status kdl_cache_clear(const kdl_cache_settings *settings, kdl_cache_totals *out_totals);

#endif
