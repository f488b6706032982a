/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "explain.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  cli_ranking *ranking;
  bool out_of_memory;
} collector;

static const char *copy(kdl_arena *arena, const char *text) {
  return kdl_arena_string(arena, text, strlen(text)).data;
}

static bool copy_reasons(kdl_arena *arena, kdl_verdict *verdict) {
  kdl_reason *reasons = kdl_arena_alloc(arena, (verdict->reason_count + 1) * sizeof *reasons);
  for (size_t i = 0; reasons && i < verdict->reason_count; ++i) {
    const kdl_reason *from = &verdict->reasons[i];
    reasons[i] =
        (kdl_reason){copy(arena, from->code), copy(arena, from->words), copy(arena, from->fix)};
    if (!reasons[i].code || !reasons[i].words || !reasons[i].fix)
      return false;
  }
  verdict->reasons = reasons;
  return reasons != NULL;
}

static int collect(void *user, const kdl_verdict *verdict) {
  collector *c = user;
  cli_ranking *ranking = c->ranking;
  kdl_verdict kept = *verdict;
  kept.fit = copy(&ranking->arena, verdict->fit);
  kept.device = ranking->count ? ranking->device : copy(&ranking->arena, verdict->device);
  c->out_of_memory = !kept.fit || !kept.device || !copy_reasons(&ranking->arena, &kept);
  ranking->device = kept.device;
  ranking->fits |= kept.chosen != 0;
  ranking->items[ranking->count++] = kept;
  return c->out_of_memory;
}

kdl_status cli_ranking_make(kdl_library *lib, kdl_device *device, const char *kernel,
                            const kdl_select_opts *opts, cli_ranking *out_ranking) {
  size_t count = kdl_image_count(lib);
  *out_ranking = (cli_ranking){.device = kdl_device_spec_text(device),
                               .items = calloc(count + 1, sizeof *out_ranking->items)};
  collector c = {.ranking = out_ranking, .out_of_memory = !out_ranking->items};
  kdl_status status =
      c.out_of_memory ? KDL_OK : kdl_explain(lib, device, kernel, opts, collect, &c);
  if (c.out_of_memory)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the reasons of %zu images", count);
  return status;
}

void cli_ranking_free(cli_ranking *ranking) {
  free(ranking->items);
  kdl_arena_free(&ranking->arena);
}
