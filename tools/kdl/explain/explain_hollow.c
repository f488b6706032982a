/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether the code that a device would run for a kernel does anything. */
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/explain/explain.h"

#include <kdl/resources.h>

#include <string.h>

typedef struct {
  const char *kernel;
  kdl_kernel_effect effect;
} effect_search;

static int find_effect(void *user, const kdl_string *kernel, const kdl_kernel_resources *uses) {
  effect_search *search = user;
  if (!kdl_text_is(*kernel, search->kernel))
    return 0;
  search->effect = uses->effect;
  return 1;
}

/* Unknown for an image that cannot be read: loading it reports that. */
static kdl_kernel_effect effect_in_image(const cli_query *query, size_t image) {
  effect_search search = {query->kernel, KDL_EFFECT_UNKNOWN};
  (void)kdl_image_resources(query->input->lib, image, find_effect, &search);
  return search.effect;
}

bool cli_ranking_is_hollow(const cli_query *query, const cli_ranking *ranking) {
  if (!ranking->chosen)
    return false;
  kdl_image_kind kind = cli_image_at(query->input->lib, ranking->chosen->image).kind;
  kdl_kernel_effect chosen = effect_in_image(query, ranking->chosen->image);
  if (chosen != KDL_EFFECT_NOTHING)
    return chosen == KDL_EFFECT_STOPS;
  for (size_t i = 0; i < ranking->count; ++i) {
    const kdl_verdict *other = &ranking->items[i];
    if (!cli_verdict_lacks_kernel(other) &&
        cli_image_at(query->input->lib, other->image).kind == kind &&
        effect_in_image(query, other->image) == KDL_EFFECT_SOME)
      return true;
  }
  return false;
}
