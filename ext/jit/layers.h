/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Entries with portable keys: in the cache's folders behind the machine's own, which other machines
 * use too or somebody filled in advance, and in its own, where `kdl cache import` puts them
 * (docs/cache.md). */
#ifndef KDL_BITCODE_LAYERS_H
#define KDL_BITCODE_LAYERS_H

#include "ext/jit/cache/lease.h"
#include "ext/jit/cache/store.h"

typedef struct kdl_link_layers {
  kdl_cache_settings own; /* off: is not looked into */
  kdl_cache_layers folders;
  char *key; /* portable */
  size_t key_length;
  const kdl_cache_settings *found_in; /* the folder that an entry was found in, or NULL */
  kdl_cache_lease lease;
} kdl_link_layers;

/* NULL where there is nothing to look into. */
kdl_link_layers *kdl_link_layers_open(const kdl_cache_settings *own, kdl_string link_key);
void kdl_link_layers_close(kdl_link_layers *layers);

/* The entry of the first folder, the own one included, that has one which holds here. The caller
 * frees *out_found. */
bool kdl_link_layers_find(kdl_link_layers *layers, kdl_cache_found *out_found);

/* Where there is a folder that machines share: waits for the machine that is making the entry, and
 * finds that, or makes this one the machine that does. */
bool kdl_link_layers_wait(kdl_link_layers *layers, int64_t milliseconds,
                          kdl_cache_found *out_found);

/* Removes the entry that was found, where its folder may be written to. */
void kdl_link_layers_drop(const kdl_link_layers *layers);

/* Puts an entry of this machine's cache into the folders that are shared; the status is that of the
 * last one that refused. */
kdl_status kdl_link_layers_store(const kdl_link_layers *layers, const kdl_cache_entry *entry);

#endif
