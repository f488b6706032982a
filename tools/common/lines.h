/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Helpers for reading Clang's output and sources: lines, marks, words, lists. */
#ifndef KDL_TOOLS_COMMON_LINES_H
#define KDL_TOOLS_COMMON_LINES_H

#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdlib.h>

/* The arguments for a "%.*s". */
#define CLI_STRING_ARGS(text) (int)(text).length, (text).data

/* Removes the next line from `rest`, and its line end. False if nothing is left. */
static inline bool cli_next_line(kdl_string *rest, kdl_string *out_line) {
  if (rest->length == 0)
    return false;
  size_t end = kdl_text_find(*rest, 0, "\n");
  *out_line = (kdl_string){rest->data, end};
  *rest = kdl_text_substr(*rest, end < rest->length ? end + 1 : end);
  return true;
}

/* The text up to one of `ends`. */
static inline kdl_string cli_text_until(kdl_string text, const char *ends) {
  return (kdl_string){text.data, kdl_text_find(text, 0, ends)};
}

/* The text after the first `mark`. False if there is none; *out_rest is empty then. */
static inline bool cli_text_after(kdl_string text, const char *mark, kdl_string *out_rest) {
  const char *found = memmem(text.data, text.length, mark, strlen(mark));
  *out_rest = found ? kdl_text_substr(text, (size_t)(found - text.data) + strlen(mark))
                    : (kdl_string){"", 0};
  return found != NULL;
}

/* A character of C names and numbers. */
static inline bool cli_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kdl_is_digit(c) || c == '_';
}

/* Whether the word is at `at`, and not part of a longer one. */
static inline bool cli_word_is_at(kdl_string text, size_t at, const char *word) {
  size_t end = at + strlen(word);
  return end <= text.length && memcmp(text.data + at, word, end - at) == 0 &&
         (at == 0 || !cli_is_word(text.data[at - 1])) &&
         (end == text.length || !cli_is_word(text.data[end]));
}

/* Items of one size in an arena. */
typedef struct cli_list {
  void *items;
  size_t count, capacity;
} cli_list;

/* Adds one item at the end. */
static inline void *cli_list_add(kdl_arena *arena, cli_list *list, size_t size) {
  if (list->count == list->capacity) {
    size_t room = list->capacity ? list->capacity * 2 : 16;
    void *items = xarena_alloc(arena, room * size);
    if (list->count)
      memcpy(items, list->items, list->count * size);
    list->items = items;
    list->capacity = room;
  }
  return (char *)list->items + list->count++ * size;
}

/* Closes a stream of xtext_stream; moves its text into the arena. */
static inline kdl_string cli_text_close(kdl_arena *arena, FILE *stream, char **text,
                                        const size_t *length) {
  xtext_close(stream);
  kdl_string kept = xarena_string(arena, *text, *length);
  free(*text);
  return kept;
}

#endif
