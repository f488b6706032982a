/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/driver.h"
#include "support/base/error.h"
#include "tools/common/images/terms.h"
#include "tools/common/images/vocabulary.h"
#include "tools/common/output.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char grammar[] =
    "KEYS:FILE, with KEYS of tag=TEXT, priority=N, features=TOKEN+TOKEN, when=CONDITION, "
    "define=NAME=V+NAME=V, targets=PATTERN; with targets alone the file takes the place of the "
    "first one";

/* ------------------------------------------------------------------------------------------ */
/* --variant                                                                                    */

static kdl_status check_file(const char *path, const char *requested, cc_language *out_language) {
  if (access(path, R_OK) != 0)
    return kdl_fail(KDL_IO, "%s: cannot be read, expected a source file: %s", path,
                    strerror(errno));
  struct stat info; /* it is read once per target */
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found a directory, device, pipe or socket, expected a source file", path);
  cli_output_protect(&path, 1);
  return cc_language_of(path, requested, out_language);
}

/* Checks values of keys that go into the metadata against its grammar. */
static kdl_status check_value(const cli_terms *terms, const cli_term *term, const char *key) {
  kdl_parse_error error = {0, ""};
  char problem[256];
  if (cli_value_check(kdl_text_of(key), term->value, &error))
    return KDL_OK;
  cli_value_problem(term->value, error, problem, sizeof problem);
  return cli_terms_fail(terms, term->position + term->key.length + 1 + error.position, "%s",
                        problem);
}

typedef struct {
  const cli_terms *terms;
  const cli_term *term;
  kdl_status status;
} token_check;

static void report_bad_token(void *user, const char *problem) {
  token_check *check = user;
  if (check->status == KDL_OK)
    check->status = cli_terms_fail(check->terms, check->term->position, "%s", problem);
}

static kdl_status parse_variant_term(const cli_terms *terms, const cli_term *term,
                                     cc_source *source) {
  const char *value = term->value.data;
  if (kdl_text_is(term->key, "tag")) {
    source->tag = value;
    return check_value(terms, term, "variant_tag");
  }
  if (kdl_text_is(term->key, "priority")) {
    source->priority = (uint32_t)strtoul(value, NULL, 10);
    return check_value(terms, term, "variant_priority");
  }
  if (kdl_text_is(term->key, "features")) {
    token_check check = {terms, term, check_value(terms, term, "requires_features")};
    source->features = value;
    if (check.status == KDL_OK)
      cli_tokens_check(term->value, KDL_CLASS_COUNT, report_bad_token, &check);
    return check.status;
  }
  if (kdl_text_is(term->key, "when")) {
    source->when = value;
    return KDL_OK; /* checked against each kernel's parameters */
  }
  if (kdl_text_is(term->key, "define")) {
    source->defines = value;
    return KDL_OK;
  }
  if (kdl_text_is(term->key, "targets")) {
    source->targets = value;
    return KDL_OK;
  }
  return cli_terms_fail(terms, term->position, "unknown key '%.*s'", (int)term->key.length,
                        term->key.data);
}

/* Values point into the terms, which have the lifetime of the arena. */
static kdl_status parse_variant(kdl_arena *arena, const char *text, const char *requested,
                                cc_source *source) {
  const char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1])
    return kdl_fail(KDL_BAD_CALL, "--variant: bad value '%s': use %s", text, grammar);
  const char *keys = xarena_format(arena, "%.*s", (int)(colon - text), text);
  cli_terms terms = {.count = 0};
  *source = (cc_source){.path = colon + 1, .features = ""};
  kdl_status status = cli_terms_parse("variant", grammar, keys, &terms);
  for (size_t i = 0; i < terms.count && status == KDL_OK; ++i) {
    cli_term term = terms.items[i];
    term.value = xarena_string(arena, term.value.data, term.value.length);
    status = parse_variant_term(&terms, &term, source);
  }
  cli_terms_free(&terms);
  if (status == KDL_OK)
    status = check_file(source->path, requested, &source->language);
  if (status == KDL_OK && source->language == CC_OPENCL_C && !source->targets)
    source->targets = "opencl-c";
  if (source->when && !source->priority)
    source->priority = 1; /* before the image for every launch */
  source->is_override = !source->tag && !source->priority && !*source->features;
  return status;
}

kdl_status cc_sources_parse(kdl_arena *arena, const cli_args *args, cc_source **out_sources,
                            size_t *out_count) {
  const char *requested = cli_args_value(args, "language");
  cli_list list = {.count = 0};
  cc_source *source = cli_list_add(arena, &list, sizeof *source);
  *source = (cc_source){.path = args->operands[0], .features = ""};
  KDL_TRY(check_file(source->path, requested, &source->language));
  size_t cursor = 0;
  for (const char *text; (text = cli_args_next(args, "variant", &cursor));)
    KDL_TRY(parse_variant(arena, text, requested, cli_list_add(arena, &list, sizeof *source)));
  *out_sources = list.items;
  *out_count = list.count;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* --targets                                                                                    */

static kdl_status add_target(kdl_arena *arena, kdl_string name, cli_list *list) {
  const cc_target *others = list->items;
  cc_target target;
  bool is_there = false; /* two devices may have one architecture: h100,h200 */
  KDL_TRY(cc_target_parse(name, &target));
  for (size_t i = 0; i < list->count; ++i) {
    is_there |= strcmp(others[i].name, target.name) == 0;
    if (kdl_text_equal(others[i].spelling, target.spelling))
      return kdl_fail(KDL_BAD_CALL, "--targets: %.*s is given twice: give each target once",
                      CLI_STRING_ARGS(target.spelling));
  }
  if (!is_there)
    *(cc_target *)cli_list_add(arena, list, sizeof target) = target;
  return KDL_OK;
}

kdl_status cc_targets_parse(kdl_arena *arena, const cli_args *args, cc_target **out_targets,
                            size_t *out_count) {
  cli_list list = {.count = 0};
  size_t cursor = 0;
  for (const char *at; (at = cli_args_next(args, "targets", &cursor));) {
    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
      KDL_TRY(add_target(arena, (kdl_string){at, strcspn(at, ",")}, &list));
  }
  *out_targets = list.items;
  *out_count = list.count;
  return list.count ? KDL_OK
                    : kdl_fail(KDL_BAD_CALL, "missing targets: use --targets with names as %s",
                               cc_target_names);
}

/* ------------------------------------------------------------------------------------------ */
/* Matching sources and targets                                                                 */

/* Whether a target may have all the features: not if a token belongs to another class, or ends in
 * another vendor's name. */
static bool may_have_features(const cc_target *target, const char *features) {
  static const char *const vendors[] = {"_nv", "_amd", "_intel"};
  kdl_string list = kdl_text_of(features);
  for (size_t at = 0, end; at < list.length; at = end + 1) {
    end = kdl_text_find(list, at, "+,");
    kdl_string token = {list.data + at, end - at};
    if (kdl_feature_bit(target->features, token) < 0)
      return false;
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; ++i) {
      if (kdl_text_has_suffix(token, kdl_text_of(vendors[i])) &&
          strcmp(vendors[i], target->vendor) != 0)
        return false;
    }
  }
  return true;
}

/* `patterns` are separated by ',': a key that is given twice collects them. */
static bool matches_target_pattern(const char *patterns, const char *name) {
  char pattern[CC_TARGET_NAME_SIZE];
  for (const char *at = patterns; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at, ","), at);
    if (fnmatch(pattern, name, 0) == 0)
      return true;
  }
  return false;
}

static bool applies_to_target(const cc_source *source, const cc_target *target) {
  if (source->targets && !matches_target_pattern(source->targets, target->name))
    return false;
  return may_have_features(target, source->features);
}

static kdl_status check_variants_used(const cc_source *sources, size_t source_count,
                                      const cc_target *targets, size_t target_count) {
  for (size_t i = 1; i < source_count; ++i) {
    bool is_used = false;
    for (size_t k = 0; k < target_count; ++k)
      is_used |= applies_to_target(&sources[i], &targets[k]);
    if (!is_used)
      return kdl_fail(KDL_BAD_CALL, "--variant: %s is for none of the targets%s%s%s%s",
                      sources[i].path, sources[i].targets ? ", with targets=" : "",
                      sources[i].targets ? sources[i].targets : "",
                      *sources[i].features ? ", with features=" : "", sources[i].features);
  }
  return KDL_OK;
}

/* The file for a target's plain image. */
static kdl_status find_base_source(const cc_source *sources, size_t count, const cc_target *target,
                                   const cc_source **out_base) {
  *out_base = &sources[0];
  for (size_t i = 1; i < count; ++i) {
    if (!sources[i].is_override || !applies_to_target(&sources[i], target))
      continue;
    if (*out_base != &sources[0])
      return kdl_fail(KDL_BAD_CALL,
                      "--variant: %s and %s are both for %s: use one file without tag, priority "
                      "and features for a target",
                      (*out_base)->path, sources[i].path, target->name);
    *out_base = &sources[i];
  }
  return KDL_OK;
}

static const char *job_label(kdl_arena *arena, const cc_source *source, const cc_target *target) {
  if (source->is_override || (!source->tag && !source->priority && !*source->features))
    return target->name;
  return xarena_format(arena, "%s (%s)", target->name, source->tag ? source->tag : source->path);
}

static int compare_priorities(const void *left, const void *right) {
  const cc_job *a = left;
  const cc_job *b = right;
  if (a->source->priority != b->source->priority)
    return a->source->priority > b->source->priority ? -1 : 1;
  return (a->source > b->source) - (a->source < b->source);
}

kdl_status cc_jobs_create(kdl_arena *arena, const cc_plan *plan, const cc_source *sources,
                          size_t source_count, const cc_target *targets, size_t target_count,
                          cc_job **out_jobs, size_t *out_count) {
  cc_job *jobs = xarena_alloc(arena, source_count * target_count * sizeof *jobs);
  size_t count = 0;
  KDL_TRY(check_variants_used(sources, source_count, targets, target_count));
  for (size_t t = 0; t < target_count; ++t) {
    const cc_source *base;
    size_t first = count;
    KDL_TRY(find_base_source(sources, source_count, &targets[t], &base));
    for (size_t s = 0; s < source_count; ++s) {
      bool is_variant =
          s > 0 && !sources[s].is_override && applies_to_target(&sources[s], &targets[t]);
      if (&sources[s] == base || is_variant)
        jobs[count++] = (cc_job){.plan = plan,
                                 .source = &sources[s],
                                 .target = &targets[t],
                                 .label = job_label(arena, &sources[s], &targets[t])};
    }
    qsort(jobs + first, count - first, sizeof *jobs, compare_priorities);
  }
  for (size_t i = 0; i < count; ++i)
    jobs[i].number = i;
  *out_jobs = jobs;
  *out_count = count;
  return KDL_OK;
}
