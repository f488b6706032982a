/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/choose_ukernel.h"

#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/system/environment.h"
#include "tools/common/images/kinds.h"
#include "tools/common/memory.h"

#include <inttypes.h>
#include <stdio.h>

static kdl_string metadata_value(const kdl_image_info *image, const char *key) {
  const kdl_string *value = kdl_find_value(image->pairs, image->pair_count, key);
  return value ? *value : (kdl_string){"", 0};
}

void ir_candidate_label(const ir_candidate *candidate, char *buffer, size_t size) {
  kdl_image_info image = cli_image_at(candidate->library->lib, candidate->image);
  kdl_string tag = metadata_value(&image, "variant_tag");
  kdl_out out = {buffer, size, 0};
  kdl_out_format(&out, "image %" PRIu32 " (%.64s%s%.64s)", candidate->image,
                 image.arch.length ? image.arch.data : "no arch", tag.length ? ", " : "", tag.data);
}

static size_t count_defining_images(ir_libraries *libraries, kdl_string symbol,
                                    ir_context *context) {
  size_t count = 0;
  for (size_t i = 0; i < libraries->count; ++i) {
    ir_library *library = &libraries->items[i];
    for (uint32_t image = 0; image < kdl_image_count(library->lib); ++image)
      count += ir_library_defines(libraries, library, image, symbol, context);
  }
  return count;
}

static void log_choice(const ir_choice *choice) {
  for (size_t i = 0; i < choice->count; ++i) {
    const ir_candidate *candidate = &choice->candidates[i];
    char label[192];
    ir_candidate_label(candidate, label, sizeof label);
    kdl_debug(KDL_DEBUG_LINK, "%s: %s of %s: %s", choice->symbol.data, label,
              candidate->library->name,
              candidate->is_chosen                  ? "chosen"
              : candidate->explanation.reason_count ? candidate->explanation.reasons[0].words
                                                    : "would do, and comes later");
  }
}

/* Lists candidates by library, and within a library by its ranking. The first eligible one is
 * chosen. */
static const ir_candidate *collect_candidates(ir_libraries *libraries, ir_context *context,
                                              ir_choice *choice) {
  const ir_candidate *chosen = NULL;
  for (size_t i = 0; i < libraries->count; ++i) {
    ir_library *library = &libraries->items[i];
    for (size_t place = 0; place < kdl_image_count(library->lib); ++place) {
      const kdl_candidate *ranked = kdl_ranking_at(library->ranking, place);
      if (!ir_library_defines(libraries, library, ranked->image, choice->symbol, context))
        continue;
      ir_candidate *candidate = &choice->candidates[choice->count++];
      candidate->library = library;
      candidate->image = ranked->image;
      candidate->is_chosen = !chosen && ranked->eligible;
      kdl_explain_candidate(library->ranking, ranked, &candidate->explanation);
      if (candidate->is_chosen)
        chosen = candidate;
    }
  }
  return chosen;
}

const ir_candidate *ir_choose_ukernel(ir_libraries *libraries, kdl_string symbol,
                                      ir_context *context, ir_choice *out_choice) {
  size_t holders = count_defining_images(libraries, symbol, context);
  *out_choice = (ir_choice){
      .symbol = xarena_string(libraries->arena, symbol.data, symbol.length),
      .candidates = xarena_alloc(libraries->arena, holders * sizeof *out_choice->candidates + 1)};
  const ir_candidate *chosen = collect_candidates(libraries, context, out_choice);
  log_choice(out_choice);
  return chosen;
}

/* ------------------------------------------------------------------------------------------ */
/* None                                                                                         */

static void suggest_symbols(const ir_libraries *libraries, kdl_nearest *nearest) {
  for (size_t i = 0; i < libraries->count; ++i) {
    const ir_library *library = &libraries->items[i];
    for (uint32_t image = 0; image < kdl_image_count(library->lib); ++image) {
      for (size_t name = 0; name < library->symbols[image].count; ++name)
        kdl_nearest_add(nearest, library->symbols[image].names[name].data);
    }
  }
}

static void list_libraries(const ir_libraries *libraries, kdl_out *out) {
  for (size_t i = 0; i < libraries->count; ++i) {
    const ir_library *library = &libraries->items[i];
    kdl_out_format(out, "%s%s", i ? ", " : "; looked in ", library->name);
    for (uint32_t image = 0; image < kdl_image_count(library->lib); ++image) {
      if (library->symbols[image].error)
        kdl_out_format(out, " (image %" PRIu32 " is left out: %.160s)", image,
                       library->symbols[image].error);
    }
  }
  if (!libraries->count)
    kdl_out_format(out, "; there is no library to look in");
}

static kdl_status fail_unknown_symbol(const ir_libraries *libraries, const ir_request *request,
                                      kdl_string symbol) {
  char message[1600];
  kdl_out out = {message, sizeof message, 0};
  kdl_nearest nearest = kdl_nearest_to(symbol);
  suggest_symbols(libraries, &nearest);
  if (nearest.best)
    kdl_out_format(&out, "; did you mean '%.128s'?", nearest.best);
  list_libraries(libraries, &out);
  return kdl_fail(KDL_NO_MATCH, "%s: needs '%.128s', which nothing defines%s", request->caller,
                  symbol.data, message);
}

kdl_status ir_fail_no_ukernel(const ir_libraries *libraries, const ir_request *request,
                              const ir_choice *choice) {
  if (!choice->count)
    return fail_unknown_symbol(libraries, request, choice->symbol);
  char message[1600];
  kdl_out out = {message, sizeof message, 0};
  for (size_t i = 0; i < choice->count; ++i) {
    const ir_candidate *candidate = &choice->candidates[i];
    char label[192];
    ir_candidate_label(candidate, label, sizeof label);
    kdl_out_format(&out, "\n  %s, %s: %s", candidate->library->name, label,
                   candidate->explanation.reasons[0].words);
  }
  return kdl_fail(KDL_NO_MATCH,
                  "%s: needs '%.128s', and of %zu microkernel%s of that name none "
                  "runs on %s:%s",
                  request->caller, choice->symbol.data, choice->count,
                  choice->count == 1 ? "" : "s", request->device_label, message);
}
