/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/response_file.h"

#include "support/base/error.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { max_files = 1000, max_depth = 16, max_bytes = 16 << 20, max_words = 1000000 };

static kdl_status expand_word(cli_expanded_args *words, char *word, int depth);

static kdl_status append_word(cli_expanded_args *words, char *word) {
  if (words->count == max_words)
    return kdl_fail(KDL_BAD_CALL, "more than %d words: use fewer", max_words);
  words->items = xgrow(words->items, words->count, &words->capacity, 64, sizeof *words->items);
  words->items[words->count++] = word;
  return KDL_OK;
}

static bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes one word off the text and unquotes it in place: the result is never longer than its source,
 * and the buffer has one more byte after the text. */
static char *next_response_word(char **at, char *end) {
  char *read = *at;
  while (read < end && is_separator(*read))
    ++read;
  char *word = read, *write = read;
  char quote = '\0';
  for (; read < end && (quote || !is_separator(*read)); ++read) {
    if (*read == '\\' && read + 1 < end)
      *write++ = *++read;
    else if (quote ? *read == quote : *read == '\'' || *read == '"')
      quote = quote ? '\0' : *read;
    else
      *write++ = *read;
  }
  *at = read < end ? read + 1 : end;
  *write = '\0';
  return word;
}

static kdl_status expand_text(cli_expanded_args *words, const char *path, const cli_bytes *bytes,
                              int depth) {
  static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark */
  if (bytes->size > max_bytes)
    return kdl_fail(KDL_BAD_CALL, "@%s: too large: use response files of at most %d bytes", path,
                    max_bytes);
  if (memchr(bytes->data, 0, bytes->size))
    return kdl_fail(KDL_BAD_CALL, "@%s: not text: a response file has no NUL", path);
  char *text = xarena_alloc(&words->arena, bytes->size + 1);
  memcpy(text, bytes->data, bytes->size);
  char *end = text + bytes->size;
  bool has_mark = bytes->size >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0;
  char *at = has_mark ? text + sizeof mark - 1 : text;
  while (at < end) {
    char *word = next_response_word(&at, end);
    if (*word) /* a quoted empty word is dropped, as in LLVM */
      KDL_TRY(expand_word(words, word, depth));
  }
  return KDL_OK;
}

static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static kdl_status expand_word(cli_expanded_args *words, char *word, int depth) {
  if (word[0] != '@' || !is_file(word + 1))
    return append_word(words, word);
  if (depth == max_depth)
    return kdl_fail(KDL_BAD_CALL, "%s: response files are nested more than %d deep", word,
                    max_depth);
  if (words->files++ == max_files)
    return kdl_fail(KDL_BAD_CALL, "%s: more than %d response files: use fewer", word, max_files);
  cli_bytes bytes = {.size = 0};
  kdl_status status = cli_bytes_read(word + 1, &bytes);
  if (status == KDL_OK && bytes.size)
    status = expand_text(words, word + 1, &bytes, depth + 1);
  cli_bytes_free(&bytes);
  return status;
}

kdl_status cli_expanded_args_read(int count, char **words, cli_expanded_args *out_words) {
  *out_words = (cli_expanded_args){.count = 0};
  for (int i = 0; i < count; ++i)
    KDL_TRY(expand_word(out_words, words[i], 0));
  KDL_TRY(append_word(out_words, NULL)); /* NULL-terminated, as argv is */
  --out_words->count;
  return KDL_OK;
}

void cli_expanded_args_free(cli_expanded_args *words) {
  free(words->items);
  kdl_arena_free(&words->arena);
}
