/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/commands/link.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/targets.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cli_link_candidate_label(const kdl_link_candidate *candidate, char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  kdl_out_format(&out, "%.128s image %" PRIu64 " (%.128s%s%.64s)", basename(candidate->library),
                 candidate->image, candidate->arch[0] ? candidate->arch : "no arch",
                 candidate->tag[0] ? " " : "", candidate->tag);
}

bool cli_link_candidate_is_near(const kdl_link_candidate *candidate, kdl_string triple) {
  return candidate->chosen ||
         kdl_family_of_triple(kdl_text_of(candidate->triple)) == kdl_family_of_triple(triple);
}

static kdl_string chosen_label(kdl_arena *arena, const kdl_link_ukernel *ukernel) {
  for (size_t i = 0; i < ukernel->count; ++i) {
    if (!ukernel->candidates[i].chosen)
      continue;
    char label[512];
    cli_link_candidate_label(&ukernel->candidates[i], label, sizeof label);
    for (char *at = label; *at; ++at) { /* no commas in values: docs/metadata.md */
      if (*at == ',')
        *at = ' ';
    }
    return xarena_string(arena, label, strlen(label));
  }
  return KDL_TEXT("");
}

kdl_pair *cli_link_pairs_make(const kdl_image_info *caller, const kdl_link_report *report,
                              kdl_arena *arena, size_t *out_count) {
  static const char *const of_portable[] = {KDL_PORTABLE_KEY, "kdl.llvm", KDL_NEEDS_KEY};
  size_t most = caller->pair_count + report->ukernel_count + report->constant_count + 2;
  kdl_pair *pairs = xarena_alloc(arena, most * sizeof *pairs);
  size_t count = 0;
  pairs[count++] = (kdl_pair){KDL_TEXT("triple"), kdl_text_of(report->triple)};
  pairs[count++] = (kdl_pair){KDL_TEXT("arch"), kdl_text_of(report->arch)};
  for (size_t i = 0; i < caller->pair_count; ++i) {
    kdl_string key = caller->pairs[i].key;
    if (!kdl_text_is(key, "triple") && !kdl_text_is(key, "arch") &&
        !kdl_text_is(key, KDL_DIGEST_KEY) && !KDL_TEXT_AMONG(key, of_portable))
      pairs[count++] = caller->pairs[i];
  }
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    const kdl_link_ukernel *ukernel = &report->ukernels[i];
    if (kdl_starts_with(ukernel->symbol, "kdl_p1_")) /* the lowering of a portable image */
      continue;
    pairs[count++] = (kdl_pair){kdl_text_of(xarena_format(arena, "kdl.linked.%s", ukernel->symbol)),
                                chosen_label(arena, ukernel)};
  }
  for (size_t i = 0; i < report->constant_count; ++i) {
    const kdl_link_constant *constant = &report->constants[i];
    pairs[count++] =
        (kdl_pair){kdl_text_of(xarena_format(arena, "kdl.constant.%s", constant->name)),
                   kdl_text_of(constant->value)};
  }
  *out_count = count;
  return pairs;
}
