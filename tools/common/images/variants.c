/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/variants.h"

#include "lib/inspect/metadata.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct cli_variant {
  kdl_string kernel;
  kdl_string value;
  const char *where;
  size_t image;
  size_t order; /* of insertion */
};

void cli_variants_free(cli_variants *variants) {
  free(variants->items);
}

void cli_variants_add(cli_variants *variants, const char *where, size_t image,
                      const kdl_pair *pairs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    kdl_string kernel;
    kdl_kernel_key key;
    if (!kdl_kernel_name(pairs[i].key, &kernel) || !kdl_kernel_parse(pairs[i].value, &key, NULL))
      continue;
    variants->items =
        xgrow(variants->items, variants->count, &variants->capacity, 16, sizeof *variants->items);
    variants->items[variants->count] =
        (struct cli_variant){kernel, pairs[i].value, where, image, variants->count};
    ++variants->count;
  }
}

static int compare_variants(const void *left, const void *right) {
  const struct cli_variant *a = left;
  const struct cli_variant *b = right;
  int order = kdl_text_compare(a->kernel, b->kernel);
  return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* "sig=f32 u32" or "rev=1" */
static void format_field(const kdl_kernel_key *key, kdl_kernel_field field, char *out,
                         size_t room) {
  if (field == KDL_KERNEL_REV)
    snprintf(out, room, "rev=%u", key->rev);
  else
    snprintf(out, room, "sig=%.*s", (int)key->sig.length, key->sig.data);
}

static void report_disagreement(const struct cli_variant *a, const kdl_kernel_key *left,
                                const struct cli_variant *b, const kdl_kernel_key *right,
                                kdl_kernel_field field, cli_visit_disagreement *visit, void *user) {
  char values[2][256];
  char words[1024];
  format_field(left, field, values[0], sizeof values[0]);
  format_field(right, field, values[1], sizeof values[1]);
  snprintf(words, sizeof words,
           "kdl.kernel.%.*s: %.128s says %s and %.128s says %s, which are not variants of one "
           "kernel",
           a->kernel.length < 128 ? (int)a->kernel.length : 128, a->kernel.data, a->where,
           values[0], b->where, values[1]);
  visit(user, b->image, words);
}

/* Compares each with the first one that has the field. */
static void compare_field(const struct cli_variant *group, size_t count, kdl_kernel_field field,
                          cli_visit_disagreement *visit, void *user) {
  const struct cli_variant *first = NULL;
  kdl_kernel_key expected;
  for (size_t i = 0; i < count; ++i) {
    kdl_kernel_key key;
    if (!kdl_kernel_parse(group[i].value, &key, NULL) || !kdl_kernel_has(&key, field))
      continue;
    key.present = 1u << field;
    if (!first) {
      first = &group[i];
      expected = key;
    } else if (!kdl_kernel_is_variant(&expected, &key)) {
      report_disagreement(first, &expected, &group[i], &key, field, visit, user);
    }
  }
}

void cli_variants_compare(cli_variants *variants, cli_visit_disagreement *visit, void *user) {
  if (variants->count)
    qsort(variants->items, variants->count, sizeof *variants->items, compare_variants);
  for (size_t start = 0, end; start < variants->count; start = end) {
    for (end = start + 1; end < variants->count && kdl_text_equal(variants->items[start].kernel,
                                                                  variants->items[end].kernel);
         ++end)
      continue;
    compare_field(variants->items + start, end - start, KDL_KERNEL_SIG, visit, user);
    compare_field(variants->items + start, end - start, KDL_KERNEL_REV, visit, user);
  }
}

static void keep_first(void *user, size_t image, const char *words) {
  kdl_status *status = user;
  (void)image;
  if (*status == KDL_OK)
    *status = kdl_fail(KDL_BAD_CALL, "%s", words);
}

kdl_status cli_variants_check(cli_variants *variants) {
  kdl_status status = KDL_OK;
  cli_variants_compare(variants, keep_first, &status);
  return status;
}
