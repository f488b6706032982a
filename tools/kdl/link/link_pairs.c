/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/link_pairs.h"

#include "base/error.h"
#include "base/text.h"
#include "container/digest.h"
#include "target/target.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cli_link_candidate_label(const kdl_link_candidate *candidate, char *buffer, size_t size) {
  kdl_out out = {buffer, size, 0};
  const char *slash = strrchr(candidate->library, '/');
  kdl_out_format(&out, "%.128s image %" PRIu64 " (%.128s%s%.64s)",
                 slash ? slash + 1 : candidate->library, candidate->image,
                 candidate->arch[0] ? candidate->arch : "no arch", candidate->tag[0] ? " " : "",
                 candidate->tag);
}

bool cli_link_candidate_is_near(const kdl_link_candidate *candidate, kdl_string triple) {
  return kdl_family_of_triple(kdl_text_of(candidate->triple)) == kdl_family_of_triple(triple);
}

static const char *chosen_label(cli_link_pairs *pairs, const kdl_link_ukernel *ukernel) {
  for (size_t i = 0; i < ukernel->count; ++i) {
    if (!ukernel->candidates[i].chosen)
      continue;
    char label[512];
    cli_link_candidate_label(&ukernel->candidates[i], label, sizeof label);
    for (char *at = label; *at; ++at) { /* a comma would end the value: docs/metadata.md */
      if (*at == ',')
        *at = ' ';
    }
    return kdl_arena_string(&pairs->arena, label, strlen(label)).data;
  }
  return "";
}

/* False when out of memory. */
static bool put(cli_link_pairs *pairs, const char *key, const char *value) {
  if (!key || !value)
    return false;
  pairs->items[pairs->count++] = (kdl_pair){kdl_text_of(key), kdl_text_of(value)};
  return true;
}

static bool add_made_of(cli_link_pairs *pairs, const kdl_link_report *report) {
  bool fits = true;
  for (size_t i = 0; i < report->ukernel_count && fits; ++i) {
    const kdl_link_ukernel *ukernel = &report->ukernels[i];
    fits = put(pairs, kdl_arena_format(&pairs->arena, "kdl.linked.%s", ukernel->symbol),
               chosen_label(pairs, ukernel));
  }
  for (size_t i = 0; i < report->constant_count && fits; ++i) {
    const kdl_link_constant *constant = &report->constants[i];
    fits = put(pairs, kdl_arena_format(&pairs->arena, "kdl.constant.%s", constant->name),
               constant->value);
  }
  return fits;
}

kdl_status cli_link_pairs_make(const kdl_image_info *caller, const kdl_link_report *report,
                               cli_link_pairs *out_pairs) {
  cli_link_pairs *pairs = out_pairs;
  size_t most = caller->pair_count + report->ukernel_count + report->constant_count + 2;
  *pairs = (cli_link_pairs){.items = calloc(most, sizeof *pairs->items)};
  bool fits = pairs->items != NULL;
  fits = fits && put(pairs, "triple", report->triple) && put(pairs, "arch", report->arch);
  for (size_t i = 0; i < caller->pair_count && fits; ++i) {
    kdl_string key = caller->pairs[i].key;
    if (!kdl_text_is(key, "triple") && !kdl_text_is(key, "arch") &&
        !kdl_text_is(key, KDL_DIGEST_KEY))
      pairs->items[pairs->count++] = caller->pairs[i];
  }
  fits = fits && add_made_of(pairs, report);
  return fits ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for metadata");
}

void cli_link_pairs_free(cli_link_pairs *pairs) {
  free(pairs->items);
  kdl_arena_free(&pairs->arena);
}
