/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Bitcode becomes an image that a backend loads: out of the cache, or through kdl-ld. LLVM is never
 * in this process, and whatever becomes of kdl-ld is an error like any other.
 */
#ifndef KDL_BITCODE_BITCODE_H
#define KDL_BITCODE_BITCODE_H

#include "ext/jit/cache/claim.h"
#include "ext/jit/cache/store.h"
#include "ext/jit/link_key.h"
#include "ext/jit/tiered_cache.h"

typedef struct kdl_linked_image {
  kdl_image_kind kind;
  const void *image; /* a NUL follows */
  size_t size;
  bool is_cached; /* it came from there */

  void *data; /* what holds the image */
  kdl_link_key key;
  kdl_cache_settings cache; /* off where it cannot be used */
  kdl_cache_claim claim;
  kdl_tiered_cache *tiered;     /* NULL: none */
  char *notes;                  /* for the entry, should it be kept */
  char uncacheable_reason[256]; /* why it is not to be */
  bool out_of_memory;           /* of memory, and that is why */
  char name[512];               /* what was linked, for people */
} kdl_linked_image;

typedef enum kdl_link_cache_use {
  KDL_LINK_USE_CACHE, /* where it has the answer */
  KDL_LINK_BYPASS_CACHE,
} kdl_link_cache_use;

/* The image for a task. The caller frees *out_linked, also after a failure. */
kdl_status kdl_bitcode_link(const kdl_link_task *task, kdl_link_cache_use cache_use,
                            kdl_linked_image *out_linked);

/* Puts an image that was linked, and that its backend has loaded, into the cache. That it cannot be
 * is no error for those who have loaded it. KDL_OK also where it is not to be kept. */
kdl_status kdl_linked_image_store(kdl_linked_image *linked);

/* Removes from the cache an image that came from there and that its backend refused: from the
 * folder that it was found in, too. */
void kdl_linked_image_evict(kdl_linked_image *linked);

/* Hands over what holds the image, to be freed with free(). */
void *kdl_linked_image_release_data(kdl_linked_image *linked);

void kdl_linked_image_free(kdl_linked_image *linked);

#endif
