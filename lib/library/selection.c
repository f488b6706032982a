/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * kdl_select, kdl_explain and kdl_variants: three uses of one ranking per route of the device.
 */
#include "lib/library/selection.h"
#include "lib/device/spec.h"
#include "lib/inspect/selection.h"
#include "lib/library/library.h"
#include "lib/registry/device.h"
#include "support/base/cancel.h"
#include "support/base/error.h"
#include "support/base/sized.h"
#include "support/base/text.h"
#include "support/system/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Queries                                                                                      */

kdl_status kdl_select_opts_read(const kdl_select_opts *given, kdl_select_opts *out_opts) {
  const kdl_sized what = {"kdl_select", "opts", offsetof(kdl_select_opts, constants),
                          sizeof *out_opts};
  if (given)
    return kdl_sized_read(what, given, out_opts);
  *out_opts = (kdl_select_opts){.size = sizeof *out_opts};
  return KDL_OK;
}

/* Fills in the query from the arguments and the environment, except for the device. */
static inline kdl_status read_query(const char *kernel, const kdl_select_opts *opts,
                                    kdl_query *out_query) {
  kdl_select_opts full_opts;
  const char *tag;
  *out_query = (kdl_query){.policy = KDL_POLICY_BEST};
  if (opts) {
    KDL_TRY(kdl_select_opts_read(opts, &full_opts));
    if ((unsigned)opts->policy >= KDL_POLICY_COUNT)
      return kdl_fail(KDL_BAD_CALL, "kdl_select: opts.policy is %d, expected 0 to %d",
                      (int)opts->policy, KDL_POLICY_COUNT - 1);
    out_query->policy = opts->policy;
    tag = opts->variant_tag;
  } else {
    const char *const *lasting = kdl_environment_cached_all();
    tag = lasting[KDL_CACHED_VARIABLE_VARIANT_TAG];
    if (lasting[KDL_CACHED_VARIABLE_POLICY])
      KDL_TRY(kdl_policy_read(lasting[KDL_CACHED_VARIABLE_POLICY], &out_query->policy));
  }
  if (tag)
    out_query->variant_tag = kdl_text_of(tag);
  if (kernel)
    out_query->kernel = kdl_text_of(kernel);
  return KDL_OK;
}

static const char *kernel_display_name(const kdl_query *query) {
  return query->kernel.data ? query->kernel.data : "any kernel";
}

/* ------------------------------------------------------------------------------------------ */
/* Rankings with reasons                                                                        */

/* The ranking on one route, with the refused images; the caller frees it. */
static kdl_status rank_route(kdl_catalog *catalog, kdl_device *device, size_t route,
                             kdl_query *query, kdl_ranking **out_ranking) {
  query->device = kdl_device_route(device, route);
  KDL_TRY(kdl_rank(catalog, query, out_ranking));
  if (!(*out_ranking)->eligible || kdl_device_permit(device, route, &(*out_ranking)->candidates[0]))
    return KDL_OK;
  free(*out_ranking);
  query->device =
      kdl_device_route(device, route); /* without features whose permission was refused */
  return kdl_rank(catalog, query, out_ranking);
}

/* The ranking on the first route that an image fits, as it is or else translated; on the first
 * route where no image fits any. */
static kdl_status rank_routes(kdl_catalog *catalog, kdl_device *device, kdl_query *query,
                              kdl_ranking **out_ranking, size_t *out_route) {
  *out_route = 0;
  kdl_status status = rank_route(catalog, device, 0, query, out_ranking);
  for (size_t i = 1; status == KDL_OK && !kdl_ranking_is_settled(*out_ranking) &&
                     i < kdl_device_route_count(device);
       ++i) {
    kdl_ranking *other = NULL;
    status = rank_route(catalog, device, i, query, &other);
    bool is_better = status != KDL_OK || kdl_ranking_is_settled(other) ||
                     (other->eligible && !(*out_ranking)->eligible);
    free(is_better ? *out_ranking : other);
    if (is_better) {
      *out_ranking = other;
      *out_route = i;
    }
  }
  return status;
}

static void ranking_device_label(const kdl_ranking *full_ranking, char label[192]) {
  kdl_device_spec_label(&full_ranking->query.device->spec, &(kdl_out){label, 192, 0});
}

static void debug_ranking(const kdl_ranking *full_ranking) {
  char label[192];
  if (!kdl_debug_on(KDL_DEBUG_SELECT))
    return;
  ranking_device_label(full_ranking, label);
  kdl_debug(KDL_DEBUG_SELECT, "%s on %s, policy %s", kernel_display_name(&full_ranking->query),
            label, kdl_policy_names[full_ranking->query.policy]);
  for (size_t i = 0; i < full_ranking->count; ++i) {
    const kdl_candidate *candidate = &full_ranking->candidates[i];
    const kdl_image *image = kdl_catalog_image(full_ranking->catalog, candidate->image);
    kdl_explanation why;
    kdl_explain_candidate(full_ranking, candidate, &why);
    char text[KDL_EXPLAIN_REASONS * KDL_EXPLAIN_TEXT];
    kdl_out out = {text, sizeof text, 0};
    if (candidate->eligible)
      kdl_out_format(&out, "%s, %s",
                     candidate->has_condition     ? "fits some launches"
                     : i == full_ranking->general ? "chosen"
                                                  : "fits",
                     why.fit);
    for (size_t k = 0; k < why.reason_count; ++k)
      kdl_out_format(&out, "%s%s: %s", k ? "; " : "", why.reasons[k].code, why.reasons[k].words);
    kdl_debug(KDL_DEBUG_SELECT, "  image %" PRIu32 " (%s%s%s): %s", candidate->image,
              kdl_image_kind_name(image->kind), image->arch.length ? " " : "", image->arch.data,
              text);
  }
}

static kdl_status names_no_memory(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
}

/* The nearest image that holds the kernel or may hold it. Reads images only until one is found.
 * NULL where none does. */
static const kdl_candidate *find_nearest(const kdl_ranking *full_ranking) {
  for (size_t i = 0; i < full_ranking->count; ++i) {
    const kdl_candidate *candidate = &full_ranking->candidates[i];
    if (candidate->presence == KDL_KERNEL_ABSENT)
      continue;
    if (!full_ranking->query.kernel.data || candidate->presence == KDL_KERNEL_UNREADABLE ||
        kdl_catalog_find(full_ranking->catalog, candidate->image, full_ranking->query.kernel,
                         NULL) != KDL_KERNEL_ABSENT)
      return candidate;
  }
  return NULL;
}

/* Reports that nothing fits: the nearest image, what is wrong with it, and what would help. */
static kdl_status fail_no_image_fits(const kdl_ranking *full_ranking) {
  const char *kernel = kernel_display_name(&full_ranking->query);
  char label[192];
  ranking_device_label(full_ranking, label);
  if (full_ranking->count == 0)
    return kdl_fail(KDL_NO_MATCH, "%s: no image fits %s: there are no images", kernel, label);
  size_t memory_failures = kdl_catalog_memory_failures(full_ranking->catalog);
  const kdl_candidate *nearest = find_nearest(full_ranking);
  if (kdl_catalog_memory_failures(full_ranking->catalog) != memory_failures)
    return names_no_memory();
  if (!nearest)
    return kdl_not_ok(
        kdl_catalog_require_kernel(full_ranking->catalog, full_ranking->query.kernel));
  const kdl_image *image = kdl_catalog_image(full_ranking->catalog, nearest->image);
  kdl_explanation why;
  kdl_explain_candidate(full_ranking, nearest, &why);
  const kdl_explained_reason *reason = &why.reasons[0];
  char room[KDL_TEXT_SHORT + 1];
  kdl_string arch = kdl_text_short(image->arch, room);
  return kdl_fail(KDL_NO_MATCH,
                  "%s: none of %zu images fits %s; the nearest is image %" PRIu32
                  " (%s%s%s): %s%s%s",
                  kernel, full_ranking->count, label, nearest->image,
                  kdl_image_kind_name(image->kind), arch.length ? " " : "", arch.data,
                  reason->words, reason->fix[0] ? "; fix: " : "", reason->fix);
}

enum { any_route = KDL_LIMIT_ROUTES };

/* Ranks again with reasons, for KDL_DEBUG=select and for the message where nothing fits. */
static kdl_status diagnose_ranking(kdl_catalog *catalog, kdl_device *device, size_t route,
                                   kdl_query query, bool nothing_fitted) {
  KDL_NOT_CANCELLED;
  kdl_ranking *full_ranking;
  query.scope = KDL_RANK_ALL;
  kdl_status status = route == any_route
                          ? rank_routes(catalog, device, &query, &full_ranking, &route)
                          : rank_route(catalog, device, route, &query, &full_ranking);
  if (status != KDL_OK)
    return status;
  debug_ranking(full_ranking);
  if (nothing_fitted)
    status = fail_no_image_fits(full_ranking);
  free(full_ranking);
  return status;
}

kdl_status kdl_library_fail_no_match(kdl_library *lib, kdl_device *device, size_t route,
                                     const char *kernel, const kdl_select_opts *opts) {
  kdl_query query;
  KDL_TRY(read_query(kernel, opts, &query));
  KDL_TRY(kdl_fork_check());
  return diagnose_ranking(lib->catalog, device, route, query, true);
}

/* Whether the candidate is selected for the kernel or, without a kernel, for its module. `modules`
 * has a flag for each module that already has a selected image. */
static bool is_chosen(const kdl_ranking *full_ranking, size_t candidate_index, bool *modules) {
  const kdl_candidate *candidate = &full_ranking->candidates[candidate_index];
  if (!candidate->eligible || full_ranking->query.kernel.data)
    return candidate->eligible && candidate_index == full_ranking->general;
  bool *taken = &modules[kdl_catalog_image(full_ranking->catalog, candidate->image)->module];
  bool chosen = !*taken;
  *taken = true;
  return chosen;
}

/* Fills in the members that all verdicts of a ranking share, and visits. */
static int visit_candidate(const kdl_ranking *full_ranking, size_t candidate_index,
                           kdl_verdict verdict,
                           int (*visit)(void *user, const kdl_verdict *verdict), void *user) {
  const kdl_candidate *candidate = &full_ranking->candidates[candidate_index];
  const kdl_image_rule *rule = kdl_catalog_rule(full_ranking->catalog, candidate->image);
  kdl_explanation why;
  kdl_explain_candidate(full_ranking, candidate, &why);
  kdl_reason reasons[KDL_EXPLAIN_REASONS];
  for (size_t i = 0; i < why.reason_count; ++i)
    reasons[i] = (kdl_reason){why.reasons[i].code, why.reasons[i].words, why.reasons[i].fix};
  verdict.image = candidate->image;
  verdict.position = candidate_index;
  verdict.eligible = candidate->eligible;
  verdict.rank = candidate->reasons ? 0 : kdl_match_rank(rule, &full_ranking->query.device->rule);
  verdict.priority = rule->priority;
  verdict.fit = why.fit;
  verdict.reasons = reasons;
  verdict.reason_count = why.reason_count;
  return visit(user, &verdict);
}

kdl_status kdl_library_explain(kdl_library *lib, kdl_device *device, const char *kernel,
                               const kdl_select_opts *opts, const uint32_t *among,
                               size_t among_count,
                               int (*visit)(void *user, const kdl_verdict *verdict), void *user) {
  kdl_query query;
  kdl_ranking *full_ranking;
  size_t route;
  KDL_TRY(read_query(kernel, opts, &query));
  KDL_TRY(kdl_fork_check());
  query.scope = KDL_RANK_ALL_NAMES;
  query.among = among;
  query.among_count = among_count;
  size_t module_count = kernel ? 0 : lib->container->module_count;
  bool *modules = calloc(module_count + 1, sizeof *modules);
  if (!modules)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu modules", module_count);
  kdl_status status = rank_routes(lib->catalog, device, &query, &full_ranking, &route);
  if (status == KDL_OK) {
    debug_ranking(full_ranking);
    kdl_verdict verdict = {
        .size = sizeof verdict, .device = device->spec_lines[route], .route = route};
    for (size_t i = 0; i < full_ranking->count; ++i) {
      verdict.chosen = is_chosen(full_ranking, i, modules);
      if (visit_candidate(full_ranking, i, verdict, visit, user) != 0)
        break;
    }
    free(full_ranking);
  }
  free(modules);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Selecting                                                                                    */

/* Requests the permission (AMX) that the best image needs, and ranks again if it is refused. */
static kdl_status find_permitted_ranking(kdl_catalog *catalog, kdl_device *device, size_t route,
                                         kdl_query *query, const kdl_ranking **out_ranking) {
  query->device = kdl_device_route(device, route);
  KDL_TRY(kdl_ranking_find(catalog, query, out_ranking));
  if (!(*out_ranking)->count || kdl_device_permit(device, route, &(*out_ranking)->candidates[0]))
    return KDL_OK;
  query->device = kdl_device_route(device, route);
  return kdl_ranking_find(catalog, query, out_ranking);
}

kdl_status kdl_library_rank(kdl_library *lib, kdl_device *device, size_t route, const char *kernel,
                            const kdl_select_opts *opts, const kdl_ranking **out_ranking) {
  kdl_query query;
  KDL_TRY(read_query(kernel, opts, &query));
  KDL_TRY(kdl_fork_check());
  KDL_TRY(find_permitted_ranking(lib->catalog, device, route, &query, out_ranking));
  if (kdl_debug_on(KDL_DEBUG_SELECT))
    KDL_TRY(diagnose_ranking(lib->catalog, device, route, query, false));
  if (!(*out_ranking)->count)
    *out_ranking = NULL;
  return KDL_OK;
}

static inline kdl_selection make_selection(const kdl_ranking *ranking, const char *line,
                                           const void *data) {
  const kdl_candidate *chosen = &ranking->candidates[ranking->general];
  const kdl_image *image = kdl_catalog_image(ranking->catalog, chosen->image);
  return (kdl_selection){
      .size = sizeof(kdl_selection),
      .image = chosen->image,
      .kind = image->kind,
      .device = line,
      .fit = chosen->fit,
      .data = data,
      .data_size = (size_t)image->size,
  };
}

/* The bytes of the best image without a condition, which are verified once. */
static kdl_status read_best_image(kdl_library *lib, const kdl_ranking *ranking,
                                  const void **out_data) {
  uint32_t index = ranking->candidates[ranking->general].image;
  size_t size;
  *out_data = atomic_load_explicit(&ranking->data, memory_order_acquire);
  if (*out_data)
    return KDL_OK;
  kdl_status status = kdl_container_verified_bytes(lib->container, index, out_data, &size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s: image %" PRIu32, lib->container->name, index);
  if (status == KDL_OK)
    atomic_store_explicit(&((kdl_ranking *)(uintptr_t)ranking)->data, *out_data,
                          memory_order_release);
  return status;
}

/* The slow path: the ranking is not cached, nothing fits, selection is logged, or the route or the
 * size of the struct is unusual. */
static __attribute__((noinline)) kdl_status select_uncached(kdl_library *lib, kdl_device *device,
                                                            const char *kernel, kdl_query *query,
                                                            kdl_selection *out_selection) {
  KDL_NOT_CANCELLED;
  const kdl_sized what = {"kdl_select", "choice", sizeof *out_selection, sizeof *out_selection};
  const kdl_ranking *ranking;
  const void *data;
  size_t route = 0;
  KDL_TRY(kdl_sized_check(what, out_selection));
  KDL_TRY(kdl_fork_check());
  KDL_TRY(find_permitted_ranking(lib->catalog, device, 0, query, &ranking));
  for (size_t i = 1; !kdl_ranking_is_settled(ranking) && i < kdl_device_route_count(device); ++i) {
    const kdl_ranking *other;
    KDL_TRY(find_permitted_ranking(lib->catalog, device, i, query, &other));
    if (kdl_ranking_is_settled(other) || (other->count && !ranking->count)) {
      ranking = other;
      route = i;
    }
  }
  if (!ranking->count || kdl_debug_on(KDL_DEBUG_SELECT))
    KDL_TRY(diagnose_ranking(lib->catalog, device, any_route, *query, !ranking->count));
  if (!kernel && !ranking->is_one_module)
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_select: found no kernel, and images of several modules that fit; expected "
                    "a kernel, since no image stands for the others");
  if (ranking->general == ranking->eligible)
    return kdl_fail(KDL_NO_MATCH,
                    "%s: each of %zu images that fit has a condition (when), expected one without: "
                    "kdl_select has no launch that could fulfil one",
                    kernel_display_name(query), ranking->eligible);
  KDL_TRY(read_best_image(lib, ranking, &data));
  const kdl_selection selected = make_selection(ranking, device->spec_lines[route], data);
  kdl_sized_write(what, &selected, out_selection);
  return KDL_OK;
}

kdl_status kdl_select(kdl_library *lib, kdl_device *device, const char *kernel,
                      const kdl_select_opts *opts, kdl_selection *out_selection) {
  kdl_query query;
  KDL_TRY(KDL_GIVEN(lib, device, out_selection));
  KDL_TRY(read_query(kernel, opts, &query));
  if (!query.kernel.length)
    query.kernel.data = NULL;
  query.device = kdl_device_route(device, 0);
  const kdl_ranking *known = kdl_ranking_lookup(lib->catalog, &query, kdl_query_hash(&query));
  const void *data = known ? atomic_load_explicit(&known->data, memory_order_acquire) : NULL;
  if (!data || out_selection->size != sizeof *out_selection || (!kernel && !known->is_one_module) ||
      kdl_debug_on(KDL_DEBUG_SELECT))
    return select_uncached(lib, device, kernel, &query, out_selection);
  *out_selection = make_selection(known, device->spec_lines[0], data);
  return KDL_OK;
}

kdl_status kdl_device_cover(kdl_device *device, const kdl_inventory *inventory,
                            kdl_coverage *out_coverage, size_t *out_route) {
  for (size_t i = 0; i < kdl_device_route_count(device); ++i) {
    kdl_coverage coverage;
    KDL_TRY(kdl_inventory_cover(inventory, kdl_device_route(device, i), &coverage));
    if ((i == 0 || (!out_coverage->modules_run && coverage.modules_run))) {
      *out_coverage = coverage;
      *out_route = i;
    }
  }
  return KDL_OK;
}

kdl_status kdl_rank_on_route(kdl_catalog *catalog, const kdl_device *device, size_t route,
                             const kdl_query *query, kdl_ranking **out_ranking) {
  kdl_query its = *query;
  its.device = kdl_device_route(device, route);
  return kdl_rank(catalog, &its, out_ranking);
}

kdl_status kdl_device_shortfalls(kdl_device *device, size_t route, const kdl_inventory *inventory,
                                 kdl_visit_shortfall *visit, void *user) {
  return kdl_inventory_shortfalls(inventory, kdl_device_route(device, route), visit, user);
}

kdl_status kdl_explain(kdl_library *lib, kdl_device *device, const char *kernel,
                       const kdl_select_opts *opts,
                       int (*visit)(void *user, const kdl_verdict *verdict), void *user) {
  KDL_NOT_CANCELLED;
  kdl_status status = KDL_GIVEN(lib, device, visit);
  return status == KDL_OK ? kdl_library_explain(lib, device, kernel, opts, NULL, 0, visit, user)
                          : status;
}

kdl_status kdl_variants(kdl_library *lib, const char *kernel,
                        int (*visit)(void *user, size_t image), void *user) {
  KDL_NOT_CANCELLED;
  kdl_catalog *catalog;
  KDL_TRY(KDL_GIVEN(lib, kernel, visit));
  KDL_TRY(kdl_library_catalog(lib, &catalog));
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    if (kdl_catalog_find(catalog, i, kdl_text_of(kernel), NULL) == KDL_KERNEL_PRESENT &&
        visit(user, i) != 0)
      break;
  }
  return kdl_catalog_memory_failures(catalog) == memory_failures ? KDL_OK : names_no_memory();
}
