/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rows of environment.def for people. */
#include "support/system/variables.h"

#include "support/base/text.h"
#include "tools/kdl/describe/describe.h"

#include <stdio.h>
#include <string.h>

/* A row, or the heading of those after it, which has no name. */
static const struct {
  const char *name;
  kdl_variable_rule rule;
  const char *meaning;
} rows[] = {
#define KDL_VARIABLE_GROUP(heading) {NULL, KDL_VARIABLE_RULE_USUAL, heading},
#define KDL_VARIABLE_ROW(constant, name, rule, meaning) {name, rule, meaning},
#include "support/system/environment.def"
#undef KDL_VARIABLE_ROW
#undef KDL_VARIABLE_GROUP
};
enum { row_count = sizeof rows / sizeof *rows };

static const char *const rule_notes[] = {
    [KDL_VARIABLE_RULE_USUAL] = "",
    [KDL_VARIABLE_RULE_LINK_KEY] = " Bitcode is linked again if it changes.",
    [KDL_VARIABLE_RULE_PRIVILEGED] = " Read in programs with more rights than their user too.",
};

static bool has_rows(size_t group) {
  return group + 1 < row_count && rows[group + 1].name;
}

static bool is_variable_name(kdl_string word) {
  for (size_t i = 0; i < row_count; ++i) {
    if (rows[i].name && kdl_text_is(word, rows[i].name))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* mdoc                                                                                         */

static void print_mdoc_meaning(const char *text) {
  bool is_literal = false;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, "`");
    describe_put_mdoc(at, length);
    at += length;
    if (*at == '`') {
      is_literal = !is_literal;
      fputs(is_literal ? "\\(oq" : "\\(cq", stdout);
      ++at;
    }
  }
}

void describe_man_variables(void) {
  for (size_t i = 0; i < row_count; ++i) {
    if (!rows[i].name) {
      if (has_rows(i))
        printf(".Ss %s\n.Bl -tag -width Ds\n", rows[i].meaning);
      continue;
    }
    bool is_first = !rows[i - 1].name || *rows[i - 1].meaning;
    printf("%s %s", is_first ? ".It Ev" : " ,", rows[i].name);
    if (!*rows[i].meaning)
      continue;
    putchar('\n');
    print_mdoc_meaning(rows[i].meaning);
    printf("%s\n", rule_notes[rows[i].rule]);
    if (i + 1 == row_count || !rows[i + 1].name)
      puts(".El");
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Markdown                                                                                     */

static bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void print_markdown_meaning(const char *text) {
  bool is_literal = false;
  for (const char *at = text; *at;) {
    kdl_string word = {at, 0};
    while (is_name_character(at[word.length]))
      ++word.length;
    if (!word.length) {
      is_literal ^= *at == '`';
      putchar(*at++);
      continue;
    }
    const char *mark = !is_literal && is_variable_name(word) ? "`" : "";
    printf("%s%.*s%s", mark, (int)word.length, word.data, mark);
    at += word.length;
  }
}

void describe_variable_tables(void) {
  for (size_t i = 0; i < row_count; ++i) {
    if (!rows[i].name) {
      if (has_rows(i))
        printf("%s**%s**\n\n| variable | meaning |\n|---|---|\n", i ? "\n" : "", rows[i].meaning);
      continue;
    }
    bool is_first = !rows[i - 1].name || *rows[i - 1].meaning;
    printf("%s`%s`", is_first ? "| " : ", ", rows[i].name);
    if (!*rows[i].meaning)
      continue;
    fputs(" | ", stdout);
    print_markdown_meaning(rows[i].meaning);
    printf("%s |\n", rule_notes[rows[i].rule]);
  }
}
