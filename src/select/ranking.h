/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Every image of a library in the order in which a device would take them, the refused ones with
 * their reasons behind. Choosing for a kernel, falling back to the next image and explaining all
 * read this one list.
 */
#ifndef KDL_SELECT_RANKING_H
#define KDL_SELECT_RANKING_H

#include "device/spec.h"
#include "select/catalog.h"
#include "select/choose.h"
#include "target/kernel_key.h"

#include <stdbool.h>

/* A device as selection sees it. */
typedef struct kdl_select_device {
  kdl_device_spec spec;
  kdl_device_rule rule;
  kdl_device_limits limits;
} kdl_select_device;

/* From a spec that was parsed or discovered. */
kdl_status kdl_select_device_init(const kdl_device_spec *spec, kdl_select_device *out_device);

typedef struct kdl_query {
  const kdl_select_device *device;
  kdl_policy policy;
  kdl_string kernel;      /* data NULL: any; images need not hold it */
  kdl_string variant_tag; /* images with this tag go before all others; data NULL: none does */
  const uint32_t *among;  /* images that take part; NULL: all */
  size_t among_count;
  bool all_names; /* read the kernels of images that may not run too, to tell who holds this one */
} kdl_query;

typedef struct kdl_candidate {
  uint32_t image;
  uint32_t place;    /* in the order of the policy */
  uint64_t reasons;  /* KDL_REASON bits; 0 = may run */
  uint64_t distance; /* how far from running; 0 = may run */
  kdl_presence presence;
  bool tagged;
  bool eligible; /* may run, and holds the kernel */
} kdl_candidate;

/* Fills `out_candidates`, which has room for every image that takes part: the eligible ones first,
 * best first; then the others, those that hold the kernel before those that do not, and the nearest
 * to running first. Returns how many are eligible. Reads the kernels of images that may run, and
 * of others where the query says so; allocates nothing itself. */
size_t kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_candidate *out_candidates);

/* The images that may run, whatever kernels they hold, as kdl_rank orders those that are eligible.
 * `out_places` has room for every image. Returns how many there are. */
size_t kdl_rank_admitted(kdl_catalog *catalog, const kdl_query *query, kdl_place *out_places);

/* An image that may run. */
typedef struct kdl_eligible {
  uint32_t image;
  kdl_image_kind kind; /* by its rule */
  kdl_string key;      /* the value of its key for the kernel; `data` is NULL where it has none */
} kdl_eligible;

/* The eligible ones among those that may run, in their order, which is that of kdl_rank; and what
 * the key of the first one says, with a NULL `text.data` where it has none. Both lists may be the
 * same. */
size_t kdl_rank_eligible(kdl_catalog *catalog, const kdl_query *query, const kdl_eligible *admitted,
                         size_t count, kdl_eligible *out_eligible, kdl_kernel_key *out_key);

#endif
