/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/select.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/images/kinds.h"
#include "tools/common/images/terms.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct selector {
  bool by_index;
  size_t index;
  cli_terms terms;
  uint16_t offload_kind; /* parsed from the term `kind`, if any */
  kdl_image_kind image_kind;
} selector;

static const char grammar[] = "an index, or key=value,key=value with kind (the offload kind), "
                              "image_kind, triple, arch or any metadata key";

/* ------------------------------------------------------------------------------------------ */
/* Parsing                                                                                      */

static bool term_has_key(const cli_term *term, const char *key) {
  return strcmp(term->key.data, key) == 0;
}

static kdl_status parse_index(const char *option, const char *text, selector *out) {
  out->terms = (cli_terms){.option = option, .grammar = grammar, .text = text};
  size_t digits = strspn(text, "0123456789");
  if (text[digits])
    return cli_terms_fail(&out->terms, digits, "bad character '%c' in an index", text[digits]);
  errno = 0;
  unsigned long long index = strtoull(text, NULL, 10);
  if (errno || index > SIZE_MAX)
    return cli_terms_fail(&out->terms, 0, "bad index: too large for any image");
  out->by_index = true;
  out->index = (size_t)index;
  return KDL_OK;
}

static kdl_status parse_kinds(selector *select) {
  for (size_t i = 0; i < select->terms.count; ++i) {
    const cli_term *term = &select->terms.items[i];
    size_t value_at = term->position + term->key.length + 1;
    if (term_has_key(term, "kind") &&
        !cli_offload_kind_parse(term->value.data, &select->offload_kind))
      return cli_terms_fail(&select->terms, value_at, "bad offload kind '%s': use %s",
                            term->value.data, cli_offload_kind_names);
    if (term_has_key(term, "image_kind") &&
        !cli_image_kind_parse(term->value.data, &select->image_kind))
      return cli_terms_fail(&select->terms, value_at, "bad image kind '%s': use %s",
                            term->value.data, cli_image_kind_names);
  }
  return KDL_OK;
}

static kdl_status parse_selector(const char *option, const char *text, selector *out_select) {
  *out_select = (selector){.by_index = false};
  if (text[0] >= '0' && text[0] <= '9' && !strchr(text, '='))
    return parse_index(option, text, out_select);
  KDL_TRY(cli_terms_parse(option, grammar, text, &out_select->terms));
  return parse_kinds(out_select);
}

/* ------------------------------------------------------------------------------------------ */
/* Matching                                                                                     */

static const kdl_string *find_metadata_value(const kdl_image_info *image, kdl_string key) {
  for (size_t i = image->pair_count; i-- > 0;) {
    const kdl_pair *pair = &image->pairs[i];
    if (kdl_text_equal(pair->key, key))
      return &pair->value;
  }
  return NULL;
}

static bool term_matches(const selector *select, const cli_term *term,
                         const kdl_image_info *image) {
  if (term_has_key(term, "kind"))
    return image->offload_kind == select->offload_kind;
  if (term_has_key(term, "image_kind"))
    return image->kind == select->image_kind;
  const kdl_string *value = find_metadata_value(image, term->key);
  if (!value)
    return term->value.length == 0;
  return kdl_text_equal(*value, term->value);
}

static bool selector_matches(const selector *select, const kdl_image_info *image) {
  if (select->by_index)
    return image->index == select->index;
  for (size_t i = 0; i < select->terms.count; ++i) {
    if (!term_matches(select, &select->terms.items[i], image))
      return false;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Explaining why nothing fits                                                                  */

/* The image's value for the key of a term. */
static const char *value_text(const cli_term *term, const kdl_image_info *image,
                              char room[CLI_KIND_ROOM]) {
  if (term_has_key(term, "kind"))
    return cli_offload_kind_name(image->offload_kind, room);
  if (term_has_key(term, "image_kind"))
    return kdl_image_kind_name(image->kind);
  const kdl_string *value = find_metadata_value(image, term->key);
  return value ? value->data : NULL;
}

/* Lists the distinct values that images have for a term's key, as far as they fit. */
static void list_values(const cli_term *term, const kdl_library *lib, char *out, size_t room) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    char kind[CLI_KIND_ROOM];
    kdl_image_info image = cli_image_at(lib, i);
    const char *value = value_text(term, &image, kind);
    char quoted[128];
    if (!value || (size_t)snprintf(quoted, sizeof quoted, "'%s'", value) >= sizeof quoted ||
        strstr(out, quoted))
      continue;
    size_t need = strlen(quoted) + (used ? 2 : 0);
    if (used + need + sizeof ", ..." > room) {
      memcpy(out + used, ", ...", sizeof ", ...");
      return;
    }
    used += (size_t)sprintf(out + used, "%s%s", used ? ", " : "", quoted);
  }
}

static bool any_image_matches(const selector *select, const cli_term *term,
                              const kdl_library *lib) {
  for (size_t i = 0; i < kdl_image_count(lib); ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    if (term_matches(select, term, &image))
      return true;
  }
  return false;
}

static kdl_status fail_no_match(const selector *select, const kdl_library *lib, const char *file) {
  size_t count = kdl_image_count(lib);
  if (select->by_index && count == 0)
    return kdl_fail(KDL_NO_MATCH, "%s: no image %zu: it holds none", file, select->index);
  if (select->by_index)
    return kdl_fail(KDL_NO_MATCH, "%s: no image %zu: the last one is %zu", file, select->index,
                    count - 1);
  for (size_t i = 0; i < select->terms.count; ++i) {
    const cli_term *term = &select->terms.items[i];
    if (any_image_matches(select, term, lib))
      continue;
    char values[512];
    list_values(term, lib, values, sizeof values);
    if (!*values)
      return kdl_fail(KDL_NO_MATCH, "%s: no image has the key '%s'", file, term->key.data);
    return kdl_fail(KDL_NO_MATCH, "%s: no image has %s=%s; found %s", file, term->key.data,
                    term->value.data, values);
  }
  return kdl_fail(KDL_NO_MATCH, "%s: no image fits all of '%s'; each part alone fits one", file,
                  select->terms.text);
}

/* ------------------------------------------------------------------------------------------ */
/* Choosing                                                                                     */

static kdl_status select_matching(const char *option, const char *text, const kdl_library *lib,
                                  const char *file, bool *chosen) {
  selector select;
  bool found = false;
  kdl_status status = parse_selector(option, text, &select);
  for (size_t i = 0; i < kdl_image_count(lib) && status == KDL_OK; ++i) {
    kdl_image_info image = cli_image_at(lib, i);
    if (selector_matches(&select, &image))
      found = chosen[i] = true;
  }
  if (status == KDL_OK && !found)
    status = fail_no_match(&select, lib, file);
  cli_terms_free(&select.terms);
  return status;
}

kdl_status cli_select_images(const cli_args *args, const char *option, const kdl_library *lib,
                             const char *file, bool **out_chosen) {
  size_t count = kdl_image_count(lib);
  bool *chosen = xcalloc(count, sizeof *chosen);
  kdl_status status = KDL_OK;
  size_t cursor = 0;
  const char *text = cli_args_next(args, option, &cursor);
  if (!text)
    memset(chosen, true, count * sizeof *chosen);
  for (; text && status == KDL_OK; text = cli_args_next(args, option, &cursor))
    status = select_matching(option, text, lib, file, chosen);
  if (status != KDL_OK) {
    free(chosen);
    return status;
  }
  *out_chosen = chosen;
  return KDL_OK;
}
