/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Choosing, explaining and listing variants: one ranking per route of the device, read three ways.
 */
#include "library/selection.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "device/spec.h"
#include "library/library.h"
#include "registry/device.h"
#include "registry/permission.h"
#include "select/explain.h"
#include "system/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was asked, with the environment's answers filled in. */
typedef struct {
  kdl_catalog *catalog;
  kdl_device *device;
  kdl_policy policy;
  kdl_string kernel;
  kdl_string variant_tag;
  const uint32_t *among; /* images that take part; NULL: all */
  size_t among_count;
  bool all_names; /* of refused images too */
} request;

/* The ranking on one route. */
typedef struct {
  kdl_query query;
  kdl_candidate *candidates;
  size_t count;
  size_t eligible;
  const char *line; /* the route's spec */
  size_t route;
  char label[192]; /* the same in a few words */
} ranking;

/* ------------------------------------------------------------------------------------------ */
/* Requests                                                                                     */

static kdl_status read_policy(kdl_policy *out_policy) {
  const char *name = kdl_environment_lasting(KDL_LASTING_POLICY);
  *out_policy = KDL_POLICY_BEST;
  if (name && !kdl_policy_parse(kdl_text_of(name), out_policy))
    return kdl_fail(
        KDL_BAD_CALL,
        "KDL_POLICY: position 0: found \"%s\", expected one of: best, first, capability", name);
  return KDL_OK;
}

kdl_status kdl_select_opts_read(const kdl_select_opts *given, kdl_select_opts *out_opts) {
  const kdl_sized what = {"kdl_select", "opts", offsetof(kdl_select_opts, constants),
                          sizeof *out_opts};
  if (given)
    return kdl_sized_read(what, given, out_opts);
  *out_opts = (kdl_select_opts){.size = sizeof *out_opts};
  return KDL_OK;
}

static kdl_status make_request(kdl_library *lib, kdl_device *device, const char *kernel,
                               const kdl_select_opts *opts, request *out_request) {
  const char *tag = kdl_environment_lasting(KDL_LASTING_VARIANT_TAG);
  request made = {.device = device, .catalog = lib->catalog};
  kdl_select_opts whole;
  kdl_status status = kdl_select_opts_read(opts, &whole);
  if (status != KDL_OK)
    return status;
  if (opts && (unsigned)opts->policy >= KDL_POLICY_COUNT)
    return kdl_fail(KDL_BAD_CALL, "kdl_select: opts.policy is %d, expected 0 to %d",
                    (int)opts->policy, KDL_POLICY_COUNT - 1);
  if (opts) {
    made.policy = opts->policy;
    tag = opts->variant_tag;
  } else {
    status = read_policy(&made.policy);
  }
  if (tag)
    made.variant_tag = kdl_text_of(tag);
  if (kernel)
    made.kernel = kdl_text_of(kernel);
  if (status == KDL_OK)
    status = kdl_fork_check();
  *out_request = made;
  return status;
}

static kdl_status short_of_names(void) {
  return kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
}

static kdl_status rank_route(const request *asked, size_t route, ranking *out_ranking) {
  KDL_TRY(kdl_catalog_compile_all(asked->catalog));
  ranking made = {
      .query = {.device = kdl_device_route(asked->device, route),
                .policy = asked->policy,
                .kernel = asked->kernel,
                .variant_tag = asked->variant_tag,
                .all_names = asked->all_names,
                .among = asked->among,
                .among_count = asked->among_count},
      .count = asked->among ? asked->among_count : kdl_catalog_count(asked->catalog),
      .line = asked->device->lines[route],
      .route = route,
  };
  size_t shortages = kdl_catalog_shortages(asked->catalog);
  made.candidates = calloc(made.count + 1, sizeof *made.candidates);
  if (!made.candidates)
    return kdl_fail(KDL_NO_MEMORY, "out of memory to rank %zu images", made.count);
  made.eligible = kdl_rank(asked->catalog, &made.query, made.candidates);
  if (made.eligible &&
      !kdl_device_permit(asked->device, route, asked->catalog, made.candidates[0].image)) {
    made.query.device = kdl_device_route(asked->device, route); /* without what was refused */
    made.eligible = kdl_rank(asked->catalog, &made.query, made.candidates);
  }
  if (kdl_catalog_shortages(asked->catalog) != shortages) {
    free(made.candidates);
    return short_of_names();
  }
  kdl_device_spec_label(&made.query.device->spec, &(kdl_out){made.label, sizeof made.label, 0});
  *out_ranking = made;
  return KDL_OK;
}

enum { any_route = KDL_LIMIT_ROUTES };

/* The first route that an image fits, or the first of all where none does. */
static kdl_status rank(const request *asked, ranking *out_ranking) {
  kdl_status status = rank_route(asked, 0, out_ranking);
  for (size_t i = 1;
       status == KDL_OK && out_ranking->eligible == 0 && i < kdl_device_route_count(asked->device);
       ++i) {
    ranking other = {.candidates = NULL};
    status = rank_route(asked, i, &other);
    bool is_better = status != KDL_OK || other.eligible;
    free(is_better ? out_ranking->candidates : other.candidates);
    if (is_better)
      *out_ranking = other;
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Words                                                                                        */

static void debug_ranking(const request *asked, const ranking *made) {
  if (!kdl_debug_on(KDL_DEBUG_SELECT))
    return;
  kdl_debug(KDL_DEBUG_SELECT, "%s on %s, policy %s",
            made->query.kernel.data ? made->query.kernel.data : "any kernel", made->label,
            kdl_policy_name(made->query.policy));
  for (size_t i = 0; i < made->count; ++i) {
    const kdl_candidate *candidate = &made->candidates[i];
    const kdl_image *image = kdl_catalog_image(asked->catalog, candidate->image);
    kdl_explanation why;
    kdl_explain_candidate(asked->catalog, &made->query, candidate, &why);
    char text[KDL_EXPLAIN_REASONS * KDL_EXPLAIN_TEXT];
    kdl_out out = {text, sizeof text, 0};
    if (candidate->eligible)
      kdl_out_format(&out, "%s, %s", i == 0 ? "chosen" : "fits", why.fit);
    for (size_t k = 0; k < why.reason_count; ++k)
      kdl_out_format(&out, "%s%s: %s", k ? "; " : "", why.reasons[k].code, why.reasons[k].words);
    kdl_debug(KDL_DEBUG_SELECT, "  image %" PRIu32 " (%s%s%s): %s", candidate->image,
              kdl_image_kind_name(image->kind), image->arch.length ? " " : "", image->arch.data,
              text);
  }
}

/* The nearest image that holds the kernel, or may: images are read until one is found, and no more.
 * NULL where none does. */
static const kdl_candidate *find_nearest(const request *asked, const ranking *made) {
  for (size_t i = 0; i < made->count; ++i) {
    const kdl_candidate *candidate = &made->candidates[i];
    if (candidate->presence == KDL_KERNEL_ABSENT)
      continue;
    if (!asked->kernel.data || candidate->presence == KDL_KERNEL_UNREADABLE ||
        kdl_catalog_holds(asked->catalog, candidate->image, asked->kernel) != KDL_KERNEL_ABSENT)
      return candidate;
  }
  return NULL;
}

/* Where nothing fits: the nearest image, what is wrong with it, and what would help. */
static kdl_status nothing_fits(const request *asked, const ranking *made) {
  const char *kernel = made->query.kernel.data ? made->query.kernel.data : "any kernel";
  if (made->count == 0)
    return kdl_fail(KDL_NO_MATCH, "%s: no image fits %s: there are no images", kernel, made->label);
  size_t shortages = kdl_catalog_shortages(asked->catalog);
  const kdl_candidate *nearest = find_nearest(asked, made);
  if (kdl_catalog_shortages(asked->catalog) != shortages)
    return short_of_names();
  if (!nearest)
    return kdl_not_ok(kdl_kernel_absent(asked->catalog, asked->kernel));
  const kdl_image *image = kdl_catalog_image(asked->catalog, nearest->image);
  kdl_explanation why;
  kdl_explain_candidate(asked->catalog, &made->query, nearest, &why);
  const kdl_explained_reason *reason = &why.reasons[0];
  return kdl_fail(KDL_NO_MATCH,
                  "%s: none of %zu images fits %s; the nearest is image %" PRIu32
                  " (%s%s%s): %s%s%s",
                  kernel, made->count, made->label, nearest->image,
                  kdl_image_kind_name(image->kind), image->arch.length ? " " : "", image->arch.data,
                  reason->words, reason->fix[0] ? "; fix: " : "", reason->fix);
}

/* ------------------------------------------------------------------------------------------ */
/* The public functions                                                                         */

static kdl_status remembered_on(kdl_library *lib, const request *asked, size_t route,
                                const kdl_kernel_id *kernel, const kdl_selection **out_selection) {
  kdl_query query = {.device = kdl_device_route(asked->device, route),
                     .policy = asked->policy,
                     .variant_tag = asked->variant_tag};
  return kdl_library_choose(lib, &query, kernel, out_selection);
}

/* Asks for permission to use what the best image needs, and chooses anew where it is refused. */
static kdl_status permitted_on(kdl_library *lib, const request *asked, size_t route,
                               const kdl_selection **out_selection) {
  kdl_kernel_id kernel = kdl_kernel_id_of(asked->kernel.data ? asked->kernel : KDL_TEXT(""));
  KDL_TRY(remembered_on(lib, asked, route, &kernel, out_selection));
  if ((*out_selection)->count &&
      !kdl_device_permit(asked->device, route, asked->catalog, (*out_selection)->images[0].image))
    KDL_TRY(remembered_on(lib, asked, route, &kernel, out_selection));
  return KDL_OK;
}

/* The remembered choice on the first route that has one; *out_selection is NULL where none has. */
static kdl_status remembered(kdl_library *lib, const request *asked, size_t *out_route,
                             const kdl_selection **out_selection) {
  *out_selection = NULL;
  for (size_t i = 0; i < kdl_device_route_count(asked->device); ++i) {
    const kdl_selection *selection;
    kdl_status status = permitted_on(lib, asked, i, &selection);
    if (status != KDL_OK)
      return status;
    if (selection->count) {
      *out_route = i;
      *out_selection = selection;
      return KDL_OK;
    }
  }
  return KDL_OK;
}

/* The long way, for those who want to know. */
static kdl_status tell(const request *asked, size_t route, bool nothing_fitted) {
  KDL_NOT_CANCELLED;
  ranking made;
  kdl_status status = route == any_route ? rank(asked, &made) : rank_route(asked, route, &made);
  if (status != KDL_OK)
    return status;
  debug_ranking(asked, &made);
  if (nothing_fitted)
    status = nothing_fits(asked, &made);
  free(made.candidates);
  return status;
}

kdl_status kdl_library_rank(kdl_library *lib, kdl_device *device, size_t route, const char *kernel,
                            const kdl_select_opts *opts, kdl_ranked *out_ranked) {
  request asked;
  const kdl_selection *selection;
  KDL_TRY(make_request(lib, device, kernel, opts, &asked));
  KDL_TRY(permitted_on(lib, &asked, route, &selection));
  if (kdl_debug_on(KDL_DEBUG_SELECT))
    KDL_TRY(tell(&asked, route, false));
  *out_ranked = (kdl_ranked){selection->count ? selection : NULL, asked.catalog};
  return KDL_OK;
}

kdl_status kdl_library_tell_why(kdl_library *lib, kdl_device *device, size_t route,
                                const char *kernel, const kdl_select_opts *opts) {
  request asked;
  kdl_status status = make_request(lib, device, kernel, opts, &asked);
  return status == KDL_OK ? tell(&asked, route, true) : status;
}

kdl_status kdl_select(kdl_library *lib, kdl_device *device, const char *kernel,
                      const kdl_select_opts *opts, kdl_choice *out_choice) {
  request asked;
  size_t route = 0;
  const kdl_selection *selection;
  KDL_TRY(KDL_GIVEN(lib, device, out_choice));
  const kdl_sized what = {"kdl_select", "choice", sizeof *out_choice, sizeof *out_choice};
  kdl_status status = kdl_sized_check(what, out_choice);
  if (status == KDL_OK)
    status = make_request(lib, device, kernel, opts, &asked);
  if (status == KDL_OK)
    status = remembered(lib, &asked, &route, &selection);
  if (status == KDL_OK && (!selection || kdl_debug_on(KDL_DEBUG_SELECT)))
    status = tell(&asked, any_route, !selection);
  if (status != KDL_OK)
    return status;
  if (!kernel && !selection->is_one_module)
    return kdl_fail(KDL_BAD_CALL,
                    "kdl_select: found no kernel, and images of several modules that fit; expected "
                    "a kernel, since no image stands for the others");
  size_t index = selection->images[0].image;
  kdl_image_rule rule;
  kdl_catalog_compile(asked.catalog, index, &rule);
  kdl_choice choice = {
      .size = sizeof choice,
      .image = index,
      .kind = kdl_catalog_image(asked.catalog, index)->kind,
      .device = device->lines[route],
      .fit = kdl_match_fit(&rule, &kdl_device_route(device, route)->rule),
  };
  status =
      kdl_container_bytes_to_run(lib->container, (uint32_t)index, &choice.data, &choice.data_size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s: image %zu", lib->container->name, index);
  if (status == KDL_OK)
    kdl_sized_write(what, &choice, out_choice);
  return status;
}

/* Whether the candidate is what its module would be run by, or the kernel where one is asked for.
 * `modules` has a flag for each that has a choice. */
static bool is_chosen(const request *asked, const ranking *made, size_t place, bool *modules) {
  const kdl_candidate *candidate = &made->candidates[place];
  if (!candidate->eligible || asked->kernel.data)
    return candidate->eligible && place == 0;
  bool *taken = &modules[kdl_catalog_image(asked->catalog, candidate->image)->module];
  bool chosen = !*taken;
  *taken = true;
  return chosen;
}

static int visit_candidate(const request *asked, const ranking *made, size_t place, bool chosen,
                           int (*visit)(void *user, const kdl_verdict *verdict), void *user) {
  const kdl_candidate *candidate = &made->candidates[place];
  const kdl_image_rule *rule = kdl_catalog_rule(asked->catalog, candidate->image);
  kdl_explanation why;
  kdl_explain_candidate(asked->catalog, &made->query, candidate, &why);
  kdl_reason reasons[KDL_EXPLAIN_REASONS];
  for (size_t i = 0; i < why.reason_count; ++i)
    reasons[i] = (kdl_reason){why.reasons[i].code, why.reasons[i].words, why.reasons[i].fix};
  kdl_verdict verdict = {
      .size = sizeof verdict,
      .image = candidate->image,
      .place = place,
      .chosen = chosen,
      .eligible = candidate->eligible,
      .rank = candidate->reasons ? 0 : rule->rank,
      .priority = rule->priority,
      .device = made->line,
      .fit = why.fit,
      .reasons = reasons,
      .reason_count = why.reason_count,
      .route = made->route,
  };
  return visit(user, &verdict);
}

kdl_status kdl_library_explain(kdl_library *lib, kdl_device *device, const char *kernel,
                               const kdl_select_opts *opts, const uint32_t *among,
                               size_t among_count,
                               int (*visit)(void *user, const kdl_verdict *verdict), void *user) {
  request asked;
  ranking made;
  kdl_status status = make_request(lib, device, kernel, opts, &asked);
  asked.among = among;
  asked.among_count = among_count;
  asked.all_names = true;
  size_t module_count = kernel ? 0 : lib->container->module_count;
  bool *modules = calloc(module_count + 1, sizeof *modules);
  if (status == KDL_OK && !modules)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for %zu modules", module_count);
  if (status == KDL_OK)
    status = rank(&asked, &made);
  if (status == KDL_OK) {
    debug_ranking(&asked, &made);
    for (size_t i = 0; i < made.count; ++i) {
      bool chosen = is_chosen(&asked, &made, i, modules);
      if (visit_candidate(&asked, &made, i, chosen, visit, user) != 0)
        break;
    }
    free(made.candidates);
  }
  free(modules);
  return status;
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
  size_t shortages = kdl_catalog_shortages(catalog);
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    if (kdl_catalog_holds(catalog, i, kdl_text_of(kernel)) == KDL_KERNEL_HELD &&
        visit(user, i) != 0)
      break;
  }
  return kdl_catalog_shortages(catalog) == shortages ? KDL_OK : short_of_names();
}
