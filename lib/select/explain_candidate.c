/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/inspect/selection.h"

#include "lib/hooks.h"
#include "lib/select/ranking.h"
#include "lib/target/explain/explain.h"
#include "support/base/cxx_name.h"
#include "support/base/error.h"
#include "support/base/nearest.h"
#include "support/base/text.h"

#include <stdio.h>
#include <string.h>

static kdl_device_desc describe_device(const kdl_device_spec *spec) {
  return (kdl_device_desc){
      .family = kdl_device_spec_family(spec),
      .arch = kdl_text_of(spec->arch),
      .features = kdl_text_of(spec->features),
      .os_off = kdl_text_of(spec->os_off),
      .refused = kdl_text_of(spec->refused),
      .driver = kdl_device_spec_driver(spec),
      .ptx = spec->ptx,
      .spirv = spec->il,
  };
}

static kdl_explained_reason *add_reason(kdl_explanation *explanation, const char *code) {
  kdl_explained_reason *reason = &explanation->reasons[explanation->reason_count++];
  reason->code = code;
  reason->words[0] = reason->fix[0] = '\0';
  return reason;
}

/* Launch limits of the kernel have their own messages; other reasons are between image and device.
 */
static void explain_bit(const kdl_mismatch *mismatch, const kdl_kernel_key *key,
                        const kdl_query *query, unsigned bit, kdl_explained_reason *reason) {
  size_t length = 0;
  if (key)
    length = kdl_kernel_reason_words(key, &query->device->limits, bit, reason->words,
                                     sizeof reason->words);
  if (length == 0)
    kdl_reason_words(mismatch, bit, reason->words, sizeof reason->words);
  kdl_reason_fix(mismatch, bit, reason->fix, sizeof reason->fix);
}

/* Explains a malformed kdl.kernel.NAME key, which is no part of the image's rule. */
static void explain_key(kdl_string kernel, kdl_string value, kdl_explained_reason *reason) {
  kdl_out out = {reason->words, sizeof reason->words, 0};
  kdl_kernel_key key;
  kdl_parse_error error = {0, ""};
  kdl_kernel_parse(value, &key, &error);
  kdl_out_format(&out, KDL_KERNEL_PREFIX "%.*s=", kernel.length < 64 ? (int)kernel.length : 64,
                 kernel.data);
  kdl_out_quoted(&out, value);
  kdl_out_format(&out, ", ");
  kdl_out_parse_error(&out, value, error);
}

static void explain_reasons(const kdl_ranking *ranking, const kdl_candidate *candidate,
                            kdl_explanation *explanation) {
  kdl_catalog *catalog = ranking->catalog;
  const kdl_query *query = &ranking->query;
  kdl_image_desc image = kdl_catalog_desc(catalog, candidate->image);
  kdl_device_desc device = describe_device(&query->device->spec);
  kdl_mismatch mismatch = {&image, kdl_catalog_rule(catalog, candidate->image), &device,
                           &query->device->rule};
  kdl_string value = {NULL, 0};
  if (query->kernel.data)
    value = kdl_catalog_kernel_key(catalog, candidate->image, query->kernel);
  const char *problem = kdl_catalog_image(catalog, candidate->image)->problem;
  kdl_kernel_key key;
  bool has_key = value.data && kdl_kernel_parse(value, &key, NULL);
  for (unsigned bit = 0; bit < KDL_REASON_COUNT; ++bit) {
    if (!(candidate->reasons >> bit & 1) || explanation->reason_count == KDL_EXPLAIN_REASONS)
      continue;
    kdl_explained_reason *reason = add_reason(explanation, kdl_reasons[bit].code);
    explain_bit(&mismatch, has_key ? &key : NULL, query, bit, reason);
    if (bit == KDL_REASON_CONTAINER && problem) {
      reason->code = "damaged";
      snprintf(reason->words, sizeof reason->words, "what it holds cannot be listed: %.250s",
               problem);
    }
    if (bit == KDL_REASON_MALFORMED_KEY && value.data && !has_key && !reason->words[0])
      explain_key(query->kernel, value, reason);
  }
}

void kdl_explain_candidate(const kdl_ranking *ranking, const kdl_candidate *candidate,
                           kdl_explanation *out_explanation) {
  out_explanation->fit = candidate->reasons ? "" : candidate->fit;
  out_explanation->reason_count = 0;
  if (candidate->reasons)
    explain_reasons(ranking, candidate, out_explanation);
  if (candidate->reasons & KDL_REASONS_NO_CODE ||
      out_explanation->reason_count == KDL_EXPLAIN_REASONS)
    return;
  if (candidate->presence == KDL_KERNEL_ABSENT) {
    kdl_explained_reason *reason = add_reason(out_explanation, "no_kernel");
    snprintf(reason->words, sizeof reason->words, "does not hold the kernel %.200s",
             ranking->query.kernel.data);
  } else if (candidate->presence == KDL_KERNEL_UNREADABLE) {
    kdl_explained_reason *reason = add_reason(out_explanation, "kernels_unreadable");
    snprintf(reason->words, sizeof reason->words, "its kernels cannot be read: %.250s",
             kdl_catalog_error(ranking->catalog, candidate->image));
  }
}

/* ------------------------------------------------------------------------------------------ */
/* A kernel that no image holds                                                                 */

enum { max_names = 3, max_name_bytes = 120 };

typedef struct {
  kdl_string wanted;
  const char *nearest; /* by its spelling, or NULL */
  const kdl_string *names;
  size_t count;
} name_search;

static bool is_near_name(const name_search *s, kdl_string name) {
  return (s->nearest && kdl_text_is(name, s->nearest)) ||
         (s->wanted.length > 2 &&
          (memmem(name.data, name.length, s->wanted.data, s->wanted.length) ||
           kdl_cxx_name_has(name, s->wanted)));
}

/* 'saxpy', or for C++ '_Z5saxpyfPf' (saxpy). Mangled names are long, so they are cut. */
static void print_kernel_name(kdl_out *out, kdl_string name) {
  char plain[max_name_bytes];
  kdl_out_format(out, "'%.*s%s'", name.length < max_name_bytes ? (int)name.length : max_name_bytes,
                 name.data, name.length < max_name_bytes ? "" : "...");
  if (kdl_cxx_name(name, plain, sizeof plain))
    kdl_out_format(out, " (%s)", plain);
}

/* Lists some of the names, or only near ones; returns how many there are. */
static size_t list_names(const name_search *s, bool only_near, kdl_out *out) {
  size_t found = 0;
  for (size_t i = 0; i < s->count; ++i) {
    if (only_near && !is_near_name(s, s->names[i]))
      continue;
    if (found++ < max_names) {
      kdl_out_format(out, found == 1 ? "" : ", ");
      print_kernel_name(out, s->names[i]);
    }
  }
  if (found > max_names)
    kdl_out_format(out, " and %zu more", found - max_names);
  return found;
}

static kdl_status fail_no_kernel(const kdl_inventory *inventory, kdl_string kernel) {
  name_search s = {.wanted = kernel};
  s.count = kdl_inventory_kernels(inventory, &s.names);
  kdl_nearest nearest = kdl_nearest_to(kernel);
  for (size_t i = 0; i < s.count; ++i)
    kdl_nearest_add(&nearest, s.names[i].data);
  s.nearest = nearest.best;
  char list[1024] = "";
  kdl_out out = {list, sizeof list, 0};
  const char *intro = "; did you mean ";
  const char *end = "?";
  if (list_names(&s, true, &out) == 0) {
    intro = s.count ? "; found " : "; found none";
    end = "";
    list_names(&s, false, &out);
  }
  return kdl_fail(KDL_NO_MATCH, "no image holds the kernel '%s'%s%s%s", kernel.data, intro, list,
                  end);
}

kdl_status kdl_catalog_require_kernel(kdl_catalog *catalog, kdl_string kernel) {
  size_t memory_failures = kdl_catalog_memory_failures(catalog);
  for (size_t i = 0; i < kdl_catalog_count(catalog); ++i) {
    bool has_code = !(kdl_catalog_rule(catalog, i)->faults & KDL_REASONS_NO_CODE);
    if (has_code && kdl_catalog_find(catalog, i, kernel, NULL) != KDL_KERNEL_ABSENT)
      return kdl_catalog_memory_failures(catalog) == memory_failures
                 ? KDL_OK
                 : kdl_fail(KDL_NO_MEMORY, "out of memory for kernel names");
  }
  kdl_inventory *inventory;
  KDL_TRY(kdl_inventory_create(catalog, &inventory));
  kdl_status status = fail_no_kernel(inventory, kernel);
  kdl_inventory_destroy(inventory);
  return status;
}
