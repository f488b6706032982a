/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/images/terms.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

kdl_status cli_fail_at_column(const char *context, const char *text, size_t position,
                              const char *problem, const char *advice) {
  enum { before = 60, after = 20 }; /* of a long text, only the part around the mark is shown */
  size_t skipped = position > before ? position - before : 0;
  const char *dots = skipped ? "..." : "";
  return kdl_fail(KDL_BAD_CALL, "%s: column %zu: %s\n    %s%.*s\n    %*s^\n  %s", context,
                  position + 1, problem, dots, before + after, text + skipped,
                  (int)(position - skipped + strlen(dots)), "", advice);
}

kdl_status cli_terms_fail(const cli_terms *terms, size_t position, const char *format, ...) {
  char problem[512];
  va_list args;
  va_start(args, format);
  vsnprintf(problem, sizeof problem, format, args);
  va_end(args);
  char context[32];
  char expected[512];
  snprintf(context, sizeof context, "--%s", terms->option);
  snprintf(expected, sizeof expected, "use %s", terms->grammar);
  return cli_fail_at_column(context, terms->text, position, problem, expected);
}

/* Parses the term at text[position], up to a comma or the end. */
static kdl_status read_term(const cli_terms *terms, size_t position, cli_term *out_term,
                            size_t *out_end) {
  const char *start = terms->text + position;
  size_t length = strcspn(start, ",");
  size_t key_length = strcspn(start, "=,");
  size_t value_start = key_length + (key_length < length);
  *out_term = (cli_term){.key = {start, key_length},
                         .value = {start + value_start, length - value_start},
                         .position = position};
  *out_end = position + length;
  if (!terms->grammar)
    return KDL_OK;
  if (length == 0)
    return cli_terms_fail(terms, position, "missing term: use key=value");
  if (key_length == 0)
    return cli_terms_fail(terms, position, "missing key before '='");
  if (key_length == length && position)
    return cli_terms_fail(terms, position + length,
                          "missing '=' after '%.*s': a comma ends a value; for a value with commas "
                          "repeat its key, as in k=a,k=b",
                          (int)key_length, start);
  if (key_length == length)
    return cli_terms_fail(terms, position + length, "missing '=' after '%.*s'", (int)key_length,
                          start);
  return KDL_OK;
}

/* Merges repeated keys: later values are appended to the first. */
static void join_repeated(cli_terms *terms) {
  size_t count = 0;
  for (size_t i = 0; i < terms->count; ++i) {
    cli_term term = terms->items[i];
    bool seen = false;
    for (size_t k = 0; k < count && !seen; ++k)
      seen = kdl_text_equal(terms->items[k].key, term.key);
    if (seen)
      continue;
    size_t length = term.value.length;
    for (size_t k = i + 1; k < terms->count; ++k) {
      if (kdl_text_equal(terms->items[k].key, term.key))
        length += 1 + terms->items[k].value.length;
    }
    kdl_string key = xarena_string(&terms->arena, term.key.data, term.key.length);
    char *value = xarena_alloc(&terms->arena, length + 1);
    char *end = mempcpy(value, term.value.data, term.value.length);
    for (size_t k = i + 1; k < terms->count; ++k) {
      if (!kdl_text_equal(terms->items[k].key, term.key))
        continue;
      *end++ = ',';
      end = mempcpy(end, terms->items[k].value.data, terms->items[k].value.length);
    }
    *end = '\0';
    terms->items[count++] = (cli_term){key, {value, length}, term.position};
  }
  terms->count = count;
}

kdl_status cli_terms_parse(const char *option, const char *grammar, const char *text,
                           cli_terms *out_terms) {
  *out_terms = (cli_terms){.option = option, .grammar = grammar, .text = text};
  size_t room = 1;
  for (const char *at = text; *at; ++at)
    room += *at == ',';
  out_terms->items = xarena_alloc(&out_terms->arena, room * sizeof *out_terms->items);
  size_t position = 0;
  for (bool more = true; more; ++position) {
    KDL_TRY(read_term(out_terms, position, &out_terms->items[out_terms->count], &position));
    ++out_terms->count;
    more = text[position] == ',';
  }
  join_repeated(out_terms);
  return KDL_OK;
}

void cli_terms_free(cli_terms *terms) {
  kdl_arena_free(&terms->arena);
}

const cli_term *cli_terms_find(const cli_terms *terms, const char *key) {
  for (size_t i = 0; i < terms->count; ++i) {
    if (kdl_text_is(terms->items[i].key, key))
      return &terms->items[i];
  }
  return NULL;
}
