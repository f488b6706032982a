/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "select/ranking.h"

#include "target/text.h"

#include <stdlib.h>

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

/* The launch limits of one kernel, which the image's rule knows nothing of. */
static uint64_t limit_reasons(kdl_catalog *catalog, size_t index, const kdl_query *query) {
  const kdl_string *value = kdl_catalog_kernel_key(catalog, index, query->kernel);
  kdl_kernel_key key;
  if (!value)
    return 0;
  if (!kdl_kernel_parse(*value, &key, NULL))
    return KDL_REASON(MALFORMED_KEY);
  return kdl_kernel_fit(&key, &query->device->rule, &query->device->limits);
}

static kdl_candidate judge(kdl_catalog *catalog, const kdl_preference *order, size_t place,
                           const kdl_query *query) {
  uint32_t index = order->images[place];
  kdl_candidate candidate = {
      .image = index,
      .place = (uint32_t)place,
      .reasons = kdl_match(&order->rules[place], &query->device->rule).reasons,
      .presence = KDL_KERNEL_HELD,
      .tagged = has_tag(kdl_catalog_image(catalog, index), query->variant_tag),
  };
  if (!candidate.reasons && query->kernel.data) {
    candidate.presence = kdl_catalog_holds(catalog, index, query->kernel);
    candidate.reasons = limit_reasons(catalog, index, query);
  }
  candidate.eligible = !candidate.reasons && candidate.presence == KDL_KERNEL_HELD;
  return candidate;
}

static int compare_candidates(const void *left, const void *right) {
  const kdl_candidate *a = left;
  const kdl_candidate *b = right;
  if (a->eligible != b->eligible)
    return a->eligible ? -1 : 1;
  if (a->eligible && a->tagged != b->tagged)
    return a->tagged ? -1 : 1;
  if (!a->eligible) {
    unsigned near = kdl_reasons_distance(a->reasons);
    unsigned far = kdl_reasons_distance(b->reasons);
    if (near != far)
      return near < far ? -1 : 1;
  }
  return (a->place > b->place) - (a->place < b->place);
}

size_t kdl_rank(kdl_catalog *catalog, const kdl_query *query, kdl_candidate *out_candidates) {
  const kdl_preference *order = kdl_catalog_order(catalog, query->policy);
  size_t count = query->among ? query->among_count : order->count;
  size_t eligible = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t place = query->among ? order->places[query->among[i]] : i;
    out_candidates[i] = judge(catalog, order, place, query);
    eligible += out_candidates[i].eligible;
  }
  if (count > 1)
    qsort(out_candidates, count, sizeof *out_candidates, compare_candidates);
  return eligible;
}
