/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cache's folders behind the machine's own: of other machines, and of those that filled one in
 * advance (docs/cache.md). */
#ifndef KDL_BITCODE_LAYERS_H
#define KDL_BITCODE_LAYERS_H

#include "cache/lease.h"
#include "cache/store.h"

typedef struct kdl_link_layers {
  kdl_cache_layers folders;
  char *key; /* portable */
  size_t key_length;
  kdl_cache_lease lease;
} kdl_link_layers;

/* NULL where KDL_CACHE names no such folder, or cannot be read. */
kdl_link_layers *kdl_link_layers_open(kdl_string link_key);
void kdl_link_layers_close(kdl_link_layers *layers);

/* The entry of the first folder that has one which holds here. The caller frees *out_found. */
bool kdl_link_layers_find(const kdl_link_layers *layers, kdl_cache_found *out_found);

/* Where there is a folder that machines share: waits for the machine that is making the entry, and
 * finds that, or makes this one the machine that does. */
bool kdl_link_layers_wait(kdl_link_layers *layers, int64_t milliseconds,
                          kdl_cache_found *out_found);

/* Puts an entry of this machine's cache into the folders that are shared. */
void kdl_link_layers_store(const kdl_link_layers *layers, const kdl_cache_entry *entry);

#endif
