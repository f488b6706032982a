/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Turns bitcode into an image that a backend loads: from the cache, or by kdl-ld. LLVM is never in
 * this process, and a crash of kdl-ld is an ordinary error.
 */
#ifndef KDL_EXT_JIT_BITCODE_H
#define KDL_EXT_JIT_BITCODE_H

#include "ext/jit/cache/claim.h"
#include "ext/jit/cache/store.h"
#include "ext/jit/link_key.h"
#include "ext/jit/tiered_cache.h"

typedef struct kdl_linked_image {
  kdl_image_kind kind;
  const void *image; /* a NUL follows */
  size_t size;
  bool is_cached; /* it came from the cache */

  void *data; /* owns the image's memory */
  kdl_link_key key;
  kdl_cache_settings cache; /* off where it cannot be used */
  kdl_cache_claim claim;
  kdl_tiered_cache *tiered;     /* NULL: none */
  char *notes;                  /* of the cache entry */
  char uncacheable_reason[256]; /* why it must not be stored */
  bool out_of_memory;           /* the reason is that memory ran out */
  char name[512];               /* what was linked, for messages */
} kdl_linked_image;

typedef enum kdl_link_cache_use {
  KDL_LINK_USE_CACHE, /* if it has the entry */
  KDL_LINK_BYPASS_CACHE,
} kdl_link_cache_use;

/* Links or finds the image for a task. The caller frees *out_linked, also after a failure. */
kdl_status kdl_bitcode_link(const kdl_link_task *task, kdl_link_cache_use cache_use,
                            kdl_linked_image *out_linked);

/* Whether the cache of this machine has the image, and it is up to date. */
bool kdl_bitcode_is_cached(const kdl_link_task *task);

/* Stores a linked image in the cache once its backend has loaded it. KDL_OK also where the image
 * must not be cached; callers may ignore a failure. */
kdl_status kdl_linked_image_store(kdl_linked_image *linked);

/* Removes an image that came from the cache and that its backend refused, also from the tier where
 * it was found. */
void kdl_linked_image_evict(kdl_linked_image *linked);

/* Transfers the memory that holds the image; free it with free(). */
void *kdl_linked_image_release_data(kdl_linked_image *linked);

void kdl_linked_image_free(kdl_linked_image *linked);

#endif
