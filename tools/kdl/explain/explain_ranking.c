/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "lib/inspect/selection.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/kdl/explain/explain.h"

#include <stdlib.h>
#include <string.h>

static const char *copy_text(kdl_arena *arena, const char *text) {
  return xarena_string(arena, text, strlen(text)).data;
}

static int copy_verdict(void *user, const kdl_verdict *verdict) {
  cli_ranking *ranking = user;
  kdl_arena *arena = &ranking->arena;
  kdl_reason *reasons = xarena_alloc(arena, (verdict->reason_count + 1) * sizeof *reasons);
  for (size_t i = 0; i < verdict->reason_count; ++i) {
    const kdl_reason *from = &verdict->reasons[i];
    reasons[i] = (kdl_reason){copy_text(arena, from->code), copy_text(arena, from->words),
                              copy_text(arena, from->fix)};
  }
  if (!ranking->count)
    ranking->device = copy_text(arena, verdict->device);
  kdl_verdict *kept = &ranking->items[ranking->count++];
  *kept = *verdict;
  kept->fit = copy_text(arena, verdict->fit);
  kept->device = ranking->device;
  kept->reasons = reasons;
  return 0;
}

/* The chosen image, if there is exactly one. */
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

/* Under the policy adaptive each launch chooses among the images of a module that fit, so that none
 * of several is the one for all. */
static void leave_to_launch(const cli_query *query, cli_ranking *ranking) {
#if KDL_WITH_ADAPTIVE
  if (query->opts.policy != KDL_POLICY_ADAPTIVE)
    return;
  size_t *fitting = xcalloc(query->module_count + 1, sizeof *fitting);
  for (int clear = 0; clear < 2; ++clear) {
    for (size_t i = 0; i < ranking->count; ++i) {
      kdl_verdict *verdict = &ranking->items[i];
      size_t module = query->kernel ? 0 : cli_image_at(query->input->lib, verdict->image).module;
      if (!verdict->eligible || module >= query->module_count)
        continue;
      if (!clear) {
        ++fitting[module];
      } else if (fitting[module] > 1) {
        verdict->chosen = 0;
        ++ranking->by_launch;
      }
    }
  }
  free(fitting);
#else
  (void)query, (void)ranking;
#endif
}

kdl_status cli_ranking_make(const cli_query *query, kdl_device *device, cli_ranking *out_ranking) {
  kdl_library *lib = query->input->lib;
  size_t count = kdl_image_count(lib), route;
  *out_ranking = (cli_ranking){.device = kdl_device_spec_text(device),
                               .about = {.size = sizeof out_ranking->about},
                               .items = xcalloc(count, sizeof *out_ranking->items)};
  KDL_TRY(kdl_explain(lib, device, query->kernel, &query->opts, copy_verdict, out_ranking));
  KDL_TRY(
      kdl_device_route_get(device, count ? out_ranking->items[0].route : 0, &out_ranking->about));
  if (query->launch)
    KDL_TRY(cli_launch_choose(query, device, out_ranking));
  if (!query->launch || !query->launch->has_items)
    leave_to_launch(query, out_ranking);
  if (query->kernel || query->module_count == 1)
    out_ranking->chosen = find_chosen(out_ranking);
  out_ranking->is_hollow = query->kernel && cli_ranking_is_hollow(query, out_ranking);
  out_ranking->fits =
      out_ranking->by_launch || (out_ranking->chosen != NULL && !out_ranking->is_hollow);
  if (query->inventory) {
    KDL_TRY(kdl_device_cover(device, query->inventory, &out_ranking->coverage, &route));
    out_ranking->fits = out_ranking->coverage.is_complete;
  }
  return KDL_OK;
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
  KDL_TRY(kdl_library_catalog(query->input->lib, &catalog));
  for (size_t i = 0; i < kdl_image_count(query->input->lib); ++i) {
    size_t module = cli_image_at(query->input->lib, i).module;
    query->module_count = module < query->module_count ? query->module_count : module + 1;
  }
  return query->kernel ? KDL_OK : kdl_inventory_create(catalog, &query->inventory);
}

void cli_query_close(cli_query *query) {
  kdl_inventory_destroy(query->inventory);
}
