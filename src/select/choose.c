/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/choose.h"

#include "base/array.h"
#include "base/text.h"

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
kdl_place kdl_place_of(const kdl_image_rule *rule, uint32_t image, kdl_policy policy) {
  switch (policy) {
  case KDL_POLICY_BEST:
    return (kdl_place){{rule->priority, rule->rank}, image, rule->kind};
  case KDL_POLICY_CAPABILITY:
    return (kdl_place){{rule->rank, rule->priority}, image, rule->kind};
  default:
    return (kdl_place){{0, 0}, image, rule->kind};
  }
}

int kdl_place_compare(const void *left, const void *right) {
  const kdl_place *a = left;
  const kdl_place *b = right;
  for (size_t i = 0; i < 2; ++i) {
    if (a->key[i] != b->key[i])
      return a->key[i] > b->key[i] ? -1 : 1;
  }
  return (a->image > b->image) - (a->image < b->image);
}

size_t kdl_preference_size(size_t count) {
  return count * (sizeof(kdl_image_rule) + 2 * sizeof(uint32_t));
}

kdl_preference kdl_preference_make(const kdl_image_rule *rules, size_t count, kdl_policy policy,
                                   void *memory) {
  kdl_image_rule *ordered = memory;
  uint32_t *images = (uint32_t *)(ordered + count);
  uint32_t *at = images + count;
  kdl_place *places = memory; /* sorted where the rules then go */
  _Static_assert(sizeof *places <= sizeof *ordered, "places have room where rules go");
  for (size_t i = 0; i < count; ++i)
    places[i] = kdl_place_of(&rules[i], (uint32_t)i, policy);
  if (policy != KDL_POLICY_FIRST)
    kdl_sort(places, count, sizeof *places, kdl_place_compare);
  for (size_t i = 0; i < count; ++i) {
    images[i] = places[i].image;
    at[images[i]] = (uint32_t)i;
  }
  for (size_t i = 0; i < count; ++i)
    ordered[i] = rules[images[i]];
  return (kdl_preference){ordered, images, at, count};
}

bool kdl_preference_create(const kdl_image_rule *rules, size_t count, kdl_policy policy,
                           kdl_preference *out_preference) {
  void *memory = malloc(kdl_preference_size(count) + 1);
  if (memory)
    *out_preference = kdl_preference_make(rules, count, policy, memory);
  return memory != NULL;
}

void kdl_preference_destroy(kdl_preference *preference) {
  free(preference->rules);
  *preference = (kdl_preference){0};
}
