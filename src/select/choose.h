/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The choice among images for one device. A policy is an order of the images, and the chosen one is
 * the first that the device admits. Since an image's rank does not depend on the device
 * (target/target.h), the order is made once per library; choosing is a walk down it.
 *
 * The order is total: the place in the file settles what rank and priority leave open.
 */
#ifndef KDL_SELECT_CHOOSE_H
#define KDL_SELECT_CHOOSE_H

#include "target/target.h"

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KDL_POLICY_COUNT = KDL_POLICY_CAPABILITY + 1 };

/* "best", "first", "capability" */
const char *kdl_policy_name(kdl_policy policy);

/* False where no policy has that name. */
bool kdl_policy_parse(kdl_string name, kdl_policy *out_policy);

/* Where an image stands under a policy. */
typedef struct kdl_place {
  uint64_t key[2]; /* larger goes before */
  uint32_t image;
  uint32_t kind; /* by its rule */
} kdl_place;

kdl_place kdl_place_of(const kdl_image_rule *rule, uint32_t image, kdl_policy policy);
int kdl_place_compare(const void *left, const void *right);

/* Images in the order of a policy. */
typedef struct kdl_preference {
  kdl_image_rule *rules;
  uint32_t *images; /* which image each rule is of; behind the rules */
  uint32_t *places; /* where each image's rule is; behind those */
  size_t count;
} kdl_preference;

/* Orders `count` rules, given in file order, in memory of the caller's for so many bytes, which is
 * aligned for a rule. */
size_t kdl_preference_size(size_t count);
kdl_preference kdl_preference_make(const kdl_image_rule *rules, size_t count, kdl_policy policy,
                                   void *memory);

/* The same in memory of its own. False where there is none. */
bool kdl_preference_create(const kdl_image_rule *rules, size_t count, kdl_policy policy,
                           kdl_preference *out_preference);
void kdl_preference_destroy(kdl_preference *preference);

/* The chosen image, or preference->count where the device admits none. No allocation, no lock. */
static inline size_t kdl_choose(const kdl_preference *preference, const kdl_device_rule *device) {
  size_t place = kdl_match_first(preference->rules, preference->count, device);
  return place < preference->count ? preference->images[place] : place;
}

#endif
