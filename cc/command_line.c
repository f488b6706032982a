/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Passes on to Clang the options that only Clang knows. */
#include "cc/command.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"
#include "tools/common/response_file.h"

#include <string.h>

/* Options of Clang whose value may be the next word. */
static const char *const separate_options[] = {"-include",   "-imacros", "-isystem", "-iquote",
                                               "-idirafter", "-U",       "-Xclang",  "-mllvm"};
/* Options of Clang that are one word, or a prefix of one. */
static const char *const joined_options[] = {
    "-f", "-g", "-m", "-std=", "-pedantic", "-isystem", "-iquote", "-idirafter", "-U"};
static const char *const exact_options[] = {"-w", "-ansi", "-nogpulib", "-nogpuinc"};

static bool begins_as_joined(const char *word) {
  for (size_t i = 0; i < sizeof joined_options / sizeof *joined_options; ++i) {
    if (kdl_starts_with(word, joined_options[i]))
      return true;
  }
  return false;
}

/* An option of `kdl cc` itself, which may also begin with one dash: -format=2. */
static bool is_command_option(const char *word) {
  size_t length = strcspn(word + 1, "=");
  for (const cli_option *option = cli_command_cc.options; option->name; ++option) {
    if (strlen(option->name) == length && strncmp(option->name, word + 1, length) == 0)
      return true;
  }
  return false;
}

/* Adds the words that replace next[0], and next[1] if that is its value; NULL if the value is
 * missing. */
static char **rewrite_option(char **next, kdl_string_list *out) {
  const char *word = next[0];
  if (KDL_TEXT_AMONG(kdl_text_of(word), separate_options)) {
    kdl_string_list_append_format(out, "--flag=%s", word);
    if (next[1])
      kdl_string_list_append_format(out, "--flag=%s", next[1]);
    return next[1] ? next + 2 : NULL;
  }
  if (strcmp(word, "-O") == 0)
    kdl_string_list_append(out, "-O1"); /* as in Clang */
  else if (!is_command_option(word) &&
           (KDL_TEXT_AMONG(kdl_text_of(word), exact_options) || begins_as_joined(word)))
    kdl_string_list_append_format(out, "--flag=%s", word);
  else
    kdl_string_list_append(out, word);
  return next + 1;
}

kdl_status cli_rewrite_cc(kdl_arena *arena, int count, char **words, kdl_string_list *out_words) {
  cli_expanded_args expanded;
  *out_words = (kdl_string_list){.arena = arena};
  kdl_status status = cli_expanded_args_read(count, words, &expanded);
  bool only_operands = false;
  for (char **next = expanded.items; status == KDL_OK && *next;) {
    const char *word = *next;
    only_operands |= strcmp(word, "--") == 0;
    if (only_operands || word[0] != '-' || word[1] == '-') {
      kdl_string_list_append(out_words, *next++);
      continue;
    }
    next = rewrite_option(next, out_words);
    if (!next)
      status = kdl_fail(KDL_BAD_CALL, "missing value: use %s VALUE", word);
  }
  if (out_words->failed)
    cli_out_of_memory();
  cli_expanded_args_free(&expanded);
  return status;
}
