/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/string_list.h"
#include "support/base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool string_list_reserve(kdl_string_list *words) {
  if (words->count + 1 < words->capacity)
    return true;
  size_t capacity = words->capacity ? words->capacity * 2 : 32;
  const char **items = kdl_arena_alloc(words->arena, capacity * sizeof *items);
  if (!items)
    return false;
  if (words->count)
    memcpy(items, words->items, words->count * sizeof *items);
  words->items = items;
  words->capacity = capacity;
  return true;
}

void kdl_string_list_append(kdl_string_list *words, const char *word) {
  kdl_string copy = kdl_arena_string(words->arena, word, strlen(word));
  if (!copy.data || !string_list_reserve(words)) {
    words->failed = true;
    return;
  }
  words->items[words->count++] = copy.data;
  words->items[words->count] = NULL;
}

void kdl_string_list_append_format(kdl_string_list *words, const char *format, ...) {
  char *word = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&word, format, args) < 0)
    word = NULL;
  va_end(args);
  if (word)
    kdl_string_list_append(words, word);
  else
    words->failed = true;
  free(word);
}

void kdl_shell_quote(FILE *file, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_=+./:,@%";
  if (*word && word[strspn(word, plain)] == '\0') {
    fputs(word, file);
    return;
  }
  putc('\'', file);
  for (; *word; ++word) {
    if (*word == '\'')
      fputs("'\\''", file);
    else
      putc(*word, file);
  }
  putc('\'', file);
}

char *kdl_string_list_shell_command(const kdl_string_list *words) {
  char *line = NULL;
  size_t size = 0;
  FILE *file = kdl_text_stream(&line, &size);
  for (size_t i = 0; file && i < words->count; ++i) {
    if (i)
      putc(' ', file);
    kdl_shell_quote(file, words->items[i]);
  }
  if (file && fclose(file) == 0)
    return line;
  free(line);
  return NULL;
}
