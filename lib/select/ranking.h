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
#include "lib/select/catalog.h"
#include "lib/target/kernel_key.h"
#include "support/base/hash.h"
#include "support/base/trie.h"

#include <stdbool.h>

enum { KDL_POLICY_COUNT = KDL_POLICY_CAPABILITY + 1 };

/* "best", "first", "capability" */
const char *kdl_policy_name(kdl_policy policy);

/* False where no policy has that name. */
bool kdl_policy_parse(kdl_string name, kdl_policy *out_policy);

/* A device as selection sees it. */
typedef struct kdl_select_device {
  kdl_device_spec spec;
  kdl_device_rule rule;
  kdl_device_limits limits;
} kdl_select_device;

/* From a spec that was parsed or discovered. */
kdl_status kdl_select_device_init(const kdl_device_spec *spec, kdl_select_device *out_device);

/* Which images a ranking has, and which of them are read for the names of their kernels where their
 * metadata does not have them. */
typedef enum kdl_rank_scope {
  KDL_RANK_ELIGIBLE,  /* those that may run and hold the kernel; images that may run are read */
  KDL_RANK_ALL,       /* all; the same are read */
  KDL_RANK_ALL_NAMES, /* all; all are read, to know which hold the kernel */
  KDL_RANK_RULES,     /* all; none is read */
} kdl_rank_scope;

typedef struct kdl_query {
  const kdl_select_device *device;
  kdl_policy policy;
  kdl_rank_scope scope;
  kdl_string kernel;      /* data NULL: any; images need not hold it */
  kdl_string variant_tag; /* images with this tag go before all others; data NULL: none does */
  const uint32_t *among;  /* images that take part; NULL: all */
  size_t among_count;
} kdl_query;

/* One image of a ranking. */
typedef struct kdl_candidate {
  uint32_t image;
  uint8_t kind;      /* kdl_image_kind, by its rule */
  uint8_t presence;  /* kdl_presence of the kernel */
  bool eligible;     /* may run, and holds the kernel */
  bool needs_amx;    /* lib/registry/permission.h */
  uint64_t order[2]; /* larger goes before */
  uint64_t reasons;  /* KDL_REASON bits; 0 = may run */
  uint64_t distance; /* how far from running; 0 = may run */
  kdl_string key;    /* the value of its key for the kernel; `data` is NULL where it has none */
  const char *fit;   /* "exact", "lower minor", ...; "" where its rule refuses the device */
} kdl_candidate;

typedef struct kdl_ranking {
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
  _Atomic(const struct kdl_holders *) holders;
  kdl_candidate candidates[];
} kdl_ranking;

/* Ranks: the eligible first, best first; then the others, those that hold the kernel before those
 * that do not, and the nearest to running first. The caller frees the ranking, whose query has the
 * caller's text. */
kdl_status kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_ranking **out_ranking);

/* The same, remembered: of the scope KDL_RANK_ELIGIBLE and among all images. It lives as long as
 * the container. Any thread; takes no lock where it is known. The device must outlive the catalog.
 */
kdl_status kdl_ranking_find(kdl_catalog *catalog, const kdl_query *query,
                            const kdl_ranking **out_ranking);

/* Why the device cannot launch a kernel of which an image's key says this: the limits of a launch,
 * of which the image's rule knows nothing. */
uint64_t kdl_key_reasons(kdl_string text, const kdl_select_device *device, kdl_kernel_key *out_key);

/* ------------------------------------------------------------------------------------------ */
/* What is known already                                                                        */

static inline uint64_t kdl_query_hash(const kdl_query *query) {
  uint64_t hash = (kdl_hash_seed() ^ (uintptr_t)query->device) + (uint64_t)query->policy;
  if (query->variant_tag.data)
    hash = kdl_hash_add(hash, query->variant_tag);
  return kdl_hash_add(hash, query->kernel);
}

static inline bool kdl_ranking_is(const kdl_trie_node *node, const void *key) {
  const kdl_query *own = &((const kdl_ranking *)node)->query, *query = key;
  return own->device == query->device && own->policy == query->policy &&
         kdl_hash_same(own->kernel, query->kernel) &&
         (own->variant_tag.data && query->variant_tag.data
              ? kdl_text_equal(own->variant_tag, query->variant_tag)
              : own->variant_tag.data == query->variant_tag.data);
}

/* NULL where it is not. */
static inline const kdl_ranking *kdl_ranking_known(kdl_catalog *catalog, const kdl_query *query,
                                                   uint64_t hash) {
  return (const kdl_ranking *)kdl_trie_find(&catalog->rankings, hash, kdl_ranking_is, query);
}

#endif
