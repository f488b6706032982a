/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Rankings: the images that a device admits for a kernel, best first, and on request those that it
 * refuses after them, with reasons. Selection takes the first, loading falls back on the next,
 * explaining prints all.
 *
 * An image's rank does not depend on the device (lib/target/target.h). A policy defines the order
 * by rank and variant_priority. The order is total: file order decides between equal images.
 *
 *     kdl_query query = {.device = &device, .kernel = KDL_TEXT("saxpy")};
 *     const kdl_ranking *ranking;
 *     KDL_TRY(kdl_ranking_find(catalog, &query, &ranking));
 *     if (ranking->count)
 *       use(ranking->candidates[0].image);
 */
#ifndef KDL_LIB_SELECT_RANKING_H
#define KDL_LIB_SELECT_RANKING_H

#include "lib/device/spec.h"
#include "lib/inspect/selection.h"
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
  kdl_trie_node node; /* in kdl_catalog.rankings */
  kdl_catalog *catalog;
  kdl_query query;
  size_t count;    /* of candidates */
  size_t eligible; /* the first so many candidates are eligible */
  size_t general;  /* the first candidate without a condition; `eligible`: each has one */
  bool has_conditions;
  bool is_one_module; /* the eligible ones are variants of the same code */
  kdl_kernel_key key; /* of the first candidate; `text.data` is NULL where it has none */
  /* The bytes of the first candidate, once they are verified: lib/library/selection.c. */
  _Atomic(const void *) data;
  /* For a ranking without a kernel, which the rankings of single kernels are derived from: how many
   * were, and, once they are many, which images hold which kernels. */
  atomic_uint kernels_ranked;
  _Atomic(const struct kdl_kernel_map *) kernel_map;
  kdl_candidate candidates[];
};

/* Whether the device takes the best image as it is: another of its routes may, where this one would
 * have it translated. */
static inline bool kdl_ranking_is_settled(const kdl_ranking *ranking) {
  return ranking->eligible && !ranking->candidates[0].is_translated;
}

/* kdl_rank with a cache, for the scope KDL_RANK_ELIGIBLE among all images. The ranking lives as
 * long as the container. Any thread; takes no lock on a hit. The device must outlive the catalog.
 */
kdl_status kdl_ranking_find(kdl_catalog *catalog, const kdl_query *query,
                            const kdl_ranking **out_ranking);

/* Why the device cannot launch a kernel whose kdl.kernel.NAME key has this text: launch limits,
 * which the image's rule does not contain. */
uint64_t kdl_kernel_key_reasons(kdl_string text, const kdl_select_device *device,
                                kdl_kernel_key *out_key);

/* ------------------------------------------------------------------------------------------ */
/* The cache of rankings                                                                        */

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

/* NULL on a miss. */
static inline const kdl_ranking *kdl_ranking_lookup(kdl_catalog *catalog, const kdl_query *query,
                                                    uint64_t hash) {
  return (const kdl_ranking *)kdl_trie_find(&catalog->rankings, hash, kdl_ranking_matches, query);
}

/* ------------------------------------------------------------------------------------------ */
/* Coverage                                                                                     */

/* How much of a library runs on one route of a device, and what does not: lib/inspect/selection.h.
 */
kdl_status kdl_inventory_cover(const kdl_inventory *inventory, const kdl_select_device *device,
                               kdl_coverage *out_coverage);

kdl_status kdl_inventory_shortfalls(const kdl_inventory *inventory, const kdl_select_device *device,
                                    kdl_visit_shortfall *visit, void *user);

#endif
