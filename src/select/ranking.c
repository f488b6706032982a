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
  kdl_status status = kdl_device_spec_compile(spec, &device.rule);
  if (status == KDL_OK)
    *out_device = device;
  return status;
}

static bool has_tag(const kdl_image *image, kdl_string tag) {
  if (!tag.data)
    return false;
  const kdl_string *value = kdl_find_value(image->pairs, image->pair_count, "variant_tag");
  return value && kdl_text_equal(*value, tag);
}

/* Why the device cannot launch a kernel of which the key says this. Images mostly say the same:
 * what was found of the last key is kept. */
typedef struct {
  kdl_kernel_key key; /* nothing is present and `text.data` is NULL at first */
  uint64_t reasons;
} launch_limits;

/* The launch limits of one kernel, which the image's rule knows nothing of. */
static uint64_t limit_reasons(kdl_catalog *catalog, size_t index, const kdl_query *query,
                              launch_limits *last) {
  const kdl_string *value = kdl_catalog_kernel_key(catalog, index, query->kernel);
  if (!value)
    return 0;
  if (last->key.text.data && kdl_text_equal(*value, last->key.text))
    return last->reasons;
  if (!kdl_kernel_parse(*value, &last->key, NULL))
    return KDL_REASON(MALFORMED_KEY);
  last->reasons = kdl_kernel_fit(&last->key, &query->device->rule, &query->device->limits);
  return last->reasons;
}

/* What the image itself says, once it is read. */
static void judge_image(kdl_catalog *catalog, const kdl_query *query, launch_limits *last,
                        kdl_candidate *candidate) {
  uint32_t index = candidate->image;
  if (kdl_catalog_unresolved(catalog, index))
    candidate->reasons |= KDL_REASON(RELOCATABLE);
  if (!query->kernel.data)
    return;
  candidate->presence = kdl_catalog_holds(catalog, index, query->kernel);
  if (!candidate->reasons)
    candidate->reasons = limit_reasons(catalog, index, query, last);
}

static kdl_candidate judge(kdl_catalog *catalog, const kdl_preference *order, size_t place,
                           const kdl_query *query, launch_limits *last) {
  uint32_t index = order->images[place];
  const kdl_image_rule *rule = &order->rules[place];
  kdl_candidate candidate = {
      .image = index,
      .place = (uint32_t)place,
      .reasons = kdl_match(rule, &query->device->rule).reasons,
      .presence = KDL_KERNEL_HELD,
      .tagged = has_tag(kdl_catalog_image(catalog, index), query->variant_tag),
  };
  if (candidate.reasons & KDL_REASON(CONTAINER))
    candidate.presence = query->kernel.data ? KDL_KERNEL_ABSENT : KDL_KERNEL_HELD;
  else if (!candidate.reasons || query->all_names)
    judge_image(catalog, query, last, &candidate);
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

size_t kdl_rank_eligible(kdl_catalog *catalog, const kdl_query *query,
                         kdl_candidate *out_candidates, kdl_kernel_key *out_key) {
  const kdl_preference *order = kdl_catalog_order(catalog, query->policy);
  size_t eligible = 0;
  launch_limits last = {0};
  for (size_t i = 0; i < order->count; ++i) {
    if (!kdl_match_admits(&order->rules[i], &query->device->rule))
      continue;
    out_candidates[eligible] = judge(catalog, order, i, query, &last);
    eligible += out_candidates[eligible].eligible;
  }
  kdl_sort(out_candidates, eligible, sizeof *out_candidates, compare_candidates);
  *out_key = last.key;
  return eligible;
}
