/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small readers over text with a length, and a writer into a caller's buffer: what the parsers and
 * the explanations are made of. Nothing allocates; nothing looks past a length. */
#ifndef KDL_BASE_TEXT_H
#define KDL_BASE_TEXT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KDL_TEXT(literal) ((kdl_string){"" literal, sizeof(literal) - 1})

/* The same in a table's initializer. */
#define KDL_TEXT_ROW(literal) {"" literal, sizeof(literal) - 1}

static inline kdl_string kdl_text_of(const char *text) {
  return (kdl_string){text, strlen(text)};
}

static inline bool kdl_text_equal(kdl_string a, kdl_string b) {
  return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

static inline bool kdl_text_is(kdl_string text, const char *literal) {
  return kdl_text_equal(text, kdl_text_of(literal));
}

static inline bool kdl_text_begins(kdl_string text, kdl_string prefix) {
  return text.length >= prefix.length && memcmp(text.data, prefix.data, prefix.length) == 0;
}

static inline bool kdl_text_starts(kdl_string text, const char *prefix) {
  return kdl_text_begins(text, kdl_text_of(prefix));
}

static inline bool kdl_starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether it is one of the names. */
static inline bool kdl_text_among(kdl_string text, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(text, names[i]))
      return true;
  }
  return false;
}
#define KDL_TEXT_AMONG(text, names) kdl_text_among(text, names, sizeof(names) / sizeof *(names))

/* The part from `from` on. */
static inline kdl_string kdl_text_from(kdl_string text, size_t from) {
  return (kdl_string){text.data + from, text.length - from};
}

static inline bool kdl_text_contains(kdl_string text, const char *word) {
  for (size_t at = 0; at + strlen(word) <= text.length; ++at) {
    if (kdl_text_starts(kdl_text_from(text, at), word))
      return true;
  }
  return false;
}

static inline bool kdl_is_one_of(char c, const char *characters) {
  while (*characters && *characters != c)
    ++characters;
  return *characters != 0;
}

/* Where the next of `separators` is, or the end. */
static inline size_t kdl_text_find(kdl_string text, size_t from, const char *separators) {
  size_t at = from;
  while (at < text.length && !kdl_is_one_of(text.data[at], separators))
    ++at;
  return at;
}

static inline bool kdl_is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads decimal digits from *at on and moves *at behind them. False without a digit or where the
 * number is over UINT32_MAX; *at then stands on the offending character. */
static inline bool kdl_text_number(kdl_string text, size_t *at, uint32_t *out_number) {
  uint64_t number = 0;
  size_t i = *at;
  for (; i < text.length && kdl_is_digit(text.data[i]); ++i) {
    number = number * 10 + (uint64_t)(text.data[i] - '0');
    if (number > UINT32_MAX) {
      *at = i;
      return false;
    }
  }
  if (i == *at)
    return false;
  *at = i;
  *out_number = (uint32_t)number;
  return true;
}

/* What a parser did not like. `expected` is a constant that shows the grammar. */
typedef struct kdl_parse_error {
  size_t position; /* in the text that was parsed; its length where the text ends too early */
  const char *expected;
} kdl_parse_error;

static inline bool kdl_parse_fail(kdl_parse_error *out_error, size_t position,
                                  const char *expected) {
  if (out_error)
    *out_error = (kdl_parse_error){position, expected};
  return false;
}

/* Text going into a buffer of the caller's; what does not fit is cut, the NUL always fits. */
typedef struct kdl_out {
  char *data;
  size_t size;
  size_t used; /* without the NUL; never more than size - 1 */
} kdl_out;

void kdl_out_format(kdl_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Foreign text between quotes: cut at 64 bytes, unprintable bytes as \xNN. */
void kdl_out_quoted(kdl_out *out, kdl_string text);

/* "position 3: found "x", expected ..." */
void kdl_out_parse_error(kdl_out *out, kdl_string text, kdl_parse_error error);

#endif
