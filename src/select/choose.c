/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/choose.h"

#include "target/text.h"

#include <stdlib.h>

static const char *const policy_names[KDL_POLICY_COUNT] = {
    [KDL_POLICY_BEST] = "best",
    [KDL_POLICY_FIRST] = "first",
    [KDL_POLICY_CAPABILITY] = "capability",
};

const char *kdl_policy_name(kdl_policy policy) {
  return policy_names[policy];
}

bool kdl_policy_parse(kdl_string name, kdl_policy *out_policy) {
  for (size_t i = 0; i < KDL_POLICY_COUNT; ++i) {
    if (kdl_text_is(name, policy_names[i])) {
      *out_policy = (kdl_policy)i;
      return true;
    }
  }
  return false;
}

/* qsort takes no context, so a policy is turned into two numbers first. */
typedef struct {
  uint64_t key[2]; /* larger goes before */
  uint32_t image;
} place;

static place place_of(const kdl_image_rule *rule, uint32_t image, kdl_policy policy) {
  switch (policy) {
  case KDL_POLICY_BEST:
    return (place){{rule->priority, rule->rank}, image};
  case KDL_POLICY_CAPABILITY:
    return (place){{rule->rank, rule->priority}, image};
  default:
    return (place){{0, 0}, image};
  }
}

static int compare_places(const void *left, const void *right) {
  const place *a = left;
  const place *b = right;
  for (size_t i = 0; i < 2; ++i) {
    if (a->key[i] != b->key[i])
      return a->key[i] > b->key[i] ? -1 : 1;
  }
  return (a->image > b->image) - (a->image < b->image);
}

bool kdl_preference_create(const kdl_image_rule *rules, size_t count, kdl_policy policy,
                           kdl_preference *out_preference) {
  size_t room = count ? count : 1;
  kdl_preference made = {malloc(room * sizeof *made.rules), malloc(room * sizeof *made.images),
                         count};
  place *places = malloc(room * sizeof *places);
  bool fits = made.rules && made.images && places;
  if (fits) {
    for (size_t i = 0; i < count; ++i)
      places[i] = place_of(&rules[i], (uint32_t)i, policy);
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; ++i) {
      made.rules[i] = rules[places[i].image];
      made.images[i] = places[i].image;
    }
    *out_preference = made;
  } else {
    kdl_preference_destroy(&made);
  }
  free(places);
  return fits;
}

void kdl_preference_destroy(kdl_preference *preference) {
  free(preference->rules);
  free(preference->images);
  *preference = (kdl_preference){0};
}
