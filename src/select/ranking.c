/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/ranking.h"

#include "base/array.h"
#include "base/text.h"

kdl_status kdl_select_device_init(const kdl_device_spec *spec, kdl_select_device *out_device) {
  kdl_select_device device = {
      .spec = *spec,
      .limits = {.threads = spec->max_block,
                 .shared = spec->shared_optin ? spec->shared_optin : spec->shared,
                 .cluster = spec->cluster,
                 .memory = spec->memory},
  };
  KDL_TRY(kdl_device_spec_compile(spec, &device.rule));
  *out_device = device;
  return KDL_OK;
}

static bool has_tag(const kdl_image *image, kdl_string tag) {
  if (!tag.data)
    return false;
  const kdl_string *value =
      kdl_find_value(kdl_image_pairs(image), image->pair_count, "variant_tag");
  return value && kdl_text_equal(*value, tag);
}

/* Why the device cannot launch a kernel of which the key says this. Images mostly say the same:
 * what was found of the last key is kept. */
typedef struct {
  kdl_kernel_key key; /* nothing is present and `text.data` is NULL at first */
  uint64_t reasons;
} launch_limits;

/* The launch limits of one kernel, which the image's rule knows nothing of. */
static uint64_t limit_reasons(kdl_string key, const kdl_query *query, launch_limits *last) {
  if (last->key.text.data && kdl_text_equal(key, last->key.text))
    return last->reasons;
  if (!kdl_kernel_parse(key, &last->key, NULL))
    return KDL_REASON(MALFORMED_KEY);
  last->reasons = kdl_kernel_fit(&last->key, &query->device->rule, &query->device->limits);
  return last->reasons;
}

/* What the image itself says, once it is read: whether it holds the kernel, and reasons against it
 * where there were none. */
static kdl_presence judge_image(kdl_catalog *catalog, uint32_t index, const kdl_query *query,
                                launch_limits *last, uint64_t *reasons, kdl_string *out_key) {
  *out_key = (kdl_string){NULL, 0};
  if (kdl_catalog_unresolved(catalog, index))
    *reasons |= KDL_REASON(RELOCATABLE);
  if (!query->kernel.data)
    return KDL_KERNEL_HELD;
  kdl_presence presence = kdl_catalog_find(catalog, index, query->kernel, out_key);
  if (out_key->data && !*reasons)
    *reasons = limit_reasons(*out_key, query, last);
  return presence;
}

static kdl_candidate judge(kdl_catalog *catalog, const kdl_preference *order, size_t place,
                           const kdl_query *query, launch_limits *last) {
  uint32_t index = order->images[place];
  const kdl_image_rule *rule = &order->rules[place];
  kdl_string key;
  kdl_candidate candidate = {
      .image = index,
      .place = (uint32_t)place,
      .reasons = kdl_match(rule, &query->device->rule).reasons,
      .presence = KDL_KERNEL_HELD,
      .tagged = has_tag(kdl_catalog_image(catalog, index), query->variant_tag),
  };
  if (candidate.reasons & KDL_REASONS_NO_CODE)
    candidate.presence = query->kernel.data ? KDL_KERNEL_ABSENT : KDL_KERNEL_HELD;
  else if (!candidate.reasons || query->all_names)
    candidate.presence = judge_image(catalog, index, query, last, &candidate.reasons, &key);
  candidate.eligible = !candidate.reasons && candidate.presence == KDL_KERNEL_HELD;
  if (candidate.reasons)
    candidate.distance = kdl_match_distance(rule, &query->device->rule, candidate.reasons);
  return candidate;
}

static int compare_refused(const kdl_candidate *a, const kdl_candidate *b) {
  static const int order[] = {
      [KDL_KERNEL_HELD] = 0, [KDL_KERNEL_UNREADABLE] = 1, [KDL_KERNEL_ABSENT] = 2};
  if (order[a->presence] != order[b->presence])
    return order[a->presence] - order[b->presence];
  return (a->distance > b->distance) - (a->distance < b->distance);
}

static int compare_candidates(const void *left, const void *right) {
  const kdl_candidate *a = left;
  const kdl_candidate *b = right;
  if (a->eligible != b->eligible)
    return a->eligible ? -1 : 1;
  int order = a->eligible ? b->tagged - a->tagged : compare_refused(a, b);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

size_t kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_candidate *out_candidates) {
  const kdl_preference *order = kdl_catalog_order(catalog, query->policy);
  size_t count = query->among ? query->among_count : order->count;
  size_t eligible = 0;
  launch_limits last = {0};
  for (size_t i = 0; i < count; ++i) {
    size_t place = query->among ? order->places[query->among[i]] : i;
    out_candidates[i] = judge(catalog, order, place, query, &last);
    eligible += out_candidates[i].eligible;
  }
  kdl_sort(out_candidates, count, sizeof *out_candidates, compare_candidates);
  return eligible;
}

size_t kdl_rank_admitted(kdl_catalog *catalog, const kdl_query *query, kdl_place *out_places) {
  const kdl_device_rule *device = &query->device->rule;
  const uint64_t before_all = (uint64_t)1 << 63; /* ranks and priorities are below */
  size_t admitted = 0;
  const kdl_container *container = kdl_catalog_container(catalog);
  for (uint32_t i = 0; i < container->count; ++i) {
    const kdl_image *image = &container->images[i];
    kdl_image_rule rule;
    if (!kdl_match_may_run(image->kind, image->arch, device))
      continue;
    kdl_catalog_compile(catalog, i, &rule);
    if (!kdl_match_admits(&rule, device))
      continue;
    kdl_place *place = &out_places[admitted++];
    *place = kdl_place_of(&rule, i, query->policy);
    if (has_tag(image, query->variant_tag))
      place->key[0] |= before_all;
  }
  kdl_sort(out_places, admitted, sizeof *out_places, kdl_place_compare);
  return admitted;
}

size_t kdl_rank_eligible(kdl_catalog *catalog, const kdl_query *query, const kdl_eligible *admitted,
                         size_t count, kdl_eligible *out_eligible, kdl_kernel_key *out_key) {
  size_t eligible = 0;
  launch_limits last = {0};
  *out_key = last.key;
  for (size_t i = 0; i < count; ++i) {
    uint64_t reasons = 0;
    kdl_eligible *to = &out_eligible[eligible];
    *to = admitted[i];
    kdl_presence presence = judge_image(catalog, to->image, query, &last, &reasons, &to->key);
    if (reasons || presence != KDL_KERNEL_HELD)
      continue;
    if (eligible++ == 0 && to->key.data)
      *out_key = last.key;
  }
  return eligible;
}
