/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "base/text.h"
#include "explain/explain.h"
#include "library/library.h"
#include "library/selection.h"
#include "select/explain.h"

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
  ranking->items[ranking->count++] = kept;
  return c->out_of_memory;
}

/* The only one that is chosen. */
static const kdl_verdict *find_chosen(const cli_ranking *ranking) {
  const kdl_verdict *found = NULL;
  for (size_t i = 0; i < ranking->count; ++i) {
    if (ranking->items[i].chosen && found)
      return NULL;
    if (ranking->items[i].chosen)
      found = &ranking->items[i];
  }
  return found;
}

kdl_status cli_ranking_make(const cli_query *query, kdl_device *device, cli_ranking *out_ranking) {
  kdl_library *lib = query->input->lib;
  size_t count = kdl_image_count(lib);
  *out_ranking = (cli_ranking){.device = kdl_device_spec_text(device),
                               .about = {.size = sizeof out_ranking->about},
                               .items = calloc(count + 1, sizeof *out_ranking->items)};
  collector c = {.ranking = out_ranking, .out_of_memory = !out_ranking->items};
  kdl_status status =
      c.out_of_memory ? KDL_OK : kdl_explain(lib, device, query->kernel, &query->opts, collect, &c);
  if (c.out_of_memory)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the reasons of %zu images", count);
  if (status == KDL_OK)
    status =
        kdl_device_route_get(device, count ? out_ranking->items[0].route : 0, &out_ranking->about);
  if (query->kernel || query->module_count == 1)
    out_ranking->chosen = find_chosen(out_ranking);
  out_ranking->fits = out_ranking->chosen != NULL;
  if (status == KDL_OK && query->inventory) {
    size_t route;
    status = kdl_device_cover(device, query->inventory, &out_ranking->coverage, &route);
    out_ranking->fits = status == KDL_OK && out_ranking->coverage.is_complete;
  }
  return status;
}

void cli_ranking_free(cli_ranking *ranking) {
  free(ranking->items);
  kdl_arena_free(&ranking->arena);
}

bool cli_verdict_lacks_kernel(const kdl_verdict *verdict) {
  return verdict->reason_count &&
         strcmp(verdict->reasons[verdict->reason_count - 1].code, "no_kernel") == 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

kdl_status cli_query_open(cli_query *query) {
  kdl_catalog *catalog;
  kdl_status status = kdl_library_catalog(query->input->lib, &catalog);
  query->module_count = query->input->lib->container->module_count;
  return status == KDL_OK && !query->kernel ? kdl_inventory_create(catalog, &query->inventory)
                                            : status;
}

void cli_query_close(cli_query *query) {
  kdl_inventory_destroy(query->inventory);
}

/* ------------------------------------------------------------------------------------------ */
/* A kernel that no image holds                                                                 */

kdl_status cli_kernel_check(const cli_input *input, const char *kernel) {
  kdl_catalog *catalog;
  kdl_status status = kdl_library_catalog(input->lib, &catalog);
  if (status == KDL_OK)
    status = kdl_kernel_absent(catalog, kdl_text_of(kernel));
  if (status != KDL_OK)
    kdl_error_prefix("%s", input->name);
  return status;
}
