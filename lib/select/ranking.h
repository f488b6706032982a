/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Every choice is a ranking: the images that a device would take for a kernel, best first, and
 * where asked for those that it refuses behind them, with reasons. Choosing takes the first,
 * loading falls back on the next, explaining prints all.
 *
 * An image's rank does not depend on the device (lib/target/target.h), and a policy says how rank
 * and priority count. The order is total: the place in the file settles what these leave open.
 *
 *     kdl_query query = {.device = &device, .kernel = KDL_TEXT("saxpy")};
 *     const kdl_ranking *ranking;
 *     KDL_TRY(kdl_ranking_find(catalog, &query, &ranking));
 *     if (ranking->count)
 *       use(ranking->candidates[0].image);
 */
#ifndef KDL_SELECT_RANKING_H
#define KDL_SELECT_RANKING_H

#include "lib/device/spec.h"
#include "lib/inspect/ranking.h"
#include "lib/select/catalog.h"
#include "lib/target/kernel_key.h"
#include "support/base/hash.h"
#include "support/base/trie.h"

#include <stdbool.h>

/* A device as selection sees it. */
struct kdl_select_device {
  kdl_device_spec spec;
  kdl_device_rule rule;
  kdl_device_limits limits;
};

/* From a spec that was parsed or discovered. */
kdl_status kdl_select_device_init(const kdl_device_spec *spec, kdl_select_device *out_device);

struct kdl_ranking {
  kdl_trie_node node; /* of the catalog's */
  kdl_catalog *catalog;
  kdl_query query;
  size_t count;       /* of candidates ... */
  size_t eligible;    /* ... of which so many are the first: the eligible ones */
  bool is_one_module; /* these are variants of the same code */
  kdl_kernel_key key; /* of the first of them; `text.data` is NULL where it has none */
  /* The bytes of the first one, once they were checked for running: lib/library/selection.c. */
  _Atomic(const void *) data;
  /* Of a ranking for any kernel, by which those for a kernel are made: how many were, and once they
   * are many, which of its images hold what. */
  atomic_uint kernels_ranked;
  _Atomic(const struct kdl_kernel_map *) kernel_map;
  kdl_candidate candidates[];
};

/* The same, remembered: of the scope KDL_RANK_ELIGIBLE and among all images. It lives as long as
 * the container. Any thread; takes no lock where it is known. The device must outlive the catalog.
 */
kdl_status kdl_ranking_find(kdl_catalog *catalog, const kdl_query *query,
                            const kdl_ranking **out_ranking);

/* Why the device cannot launch a kernel of which an image's key says this: the limits of a launch,
 * of which the image's rule knows nothing. */
uint64_t kdl_kernel_key_reasons(kdl_string text, const kdl_select_device *device,
                                kdl_kernel_key *out_key);

/* ------------------------------------------------------------------------------------------ */
/* What is known already                                                                        */

static inline uint64_t kdl_query_hash(const kdl_query *query) {
  uint64_t hash = (kdl_hash_seed() ^ (uintptr_t)query->device) + (uint64_t)query->policy;
  if (query->variant_tag.data)
    hash = kdl_hash_add(hash, query->variant_tag);
  return kdl_hash_add(hash, query->kernel);
}

static inline bool kdl_ranking_matches(const kdl_trie_node *node, const void *key) {
  const kdl_query *own = &((const kdl_ranking *)node)->query, *query = key;
  return own->device == query->device && own->policy == query->policy &&
         kdl_hash_same(own->kernel, query->kernel) &&
         (own->variant_tag.data && query->variant_tag.data
              ? kdl_text_equal(own->variant_tag, query->variant_tag)
              : own->variant_tag.data == query->variant_tag.data);
}

/* NULL where it is not. */
static inline const kdl_ranking *kdl_ranking_lookup(kdl_catalog *catalog, const kdl_query *query,
                                                    uint64_t hash) {
  return (const kdl_ranking *)kdl_trie_find(&catalog->rankings, hash, kdl_ranking_matches, query);
}

#endif
