/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Readers over UTF-8 text with a length, and a writer into the caller's buffer. Nothing allocates;
 * nothing reads past the length. */
#ifndef KDL_SUPPORT_BASE_TEXT_H
#define KDL_SUPPORT_BASE_TEXT_H

#include <kdl/kdl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

/* By bytes; a prefix sorts before the longer text. */
static inline int kdl_text_compare(kdl_string a, kdl_string b) {
  size_t shared = a.length < b.length ? a.length : b.length;
  int order = shared ? memcmp(a.data, b.data, shared) : 0;
  return order ? order : (a.length > b.length) - (a.length < b.length);
}

static inline bool kdl_text_has_prefix(kdl_string text, kdl_string prefix) {
  return text.length >= prefix.length && memcmp(text.data, prefix.data, prefix.length) == 0;
}

static inline bool kdl_text_has_suffix(kdl_string text, kdl_string suffix) {
  return text.length >= suffix.length &&
         memcmp(text.data + text.length - suffix.length, suffix.data, suffix.length) == 0;
}

static inline bool kdl_text_starts(kdl_string text, const char *prefix) {
  return kdl_text_has_prefix(text, kdl_text_of(prefix));
}

static inline bool kdl_starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether `text` is one of the names. */
static inline bool kdl_text_is_one_of(kdl_string text, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(text, names[i]))
      return true;
  }
  return false;
}
#define KDL_TEXT_AMONG(text, names) kdl_text_is_one_of(text, names, sizeof(names) / sizeof *(names))

/* The part from `from` on. */
static inline kdl_string kdl_text_substr(kdl_string text, size_t from) {
  return (kdl_string){text.data + from, text.length - from};
}

static inline bool kdl_text_contains(kdl_string text, const char *word) {
  for (size_t at = 0; at + strlen(word) <= text.length; ++at) {
    if (kdl_text_starts(kdl_text_substr(text, at), word))
      return true;
  }
  return false;
}

static inline bool kdl_is_one_of(char c, const char *characters) {
  while (*characters && *characters != c)
    ++characters;
  return *characters != 0;
}

/* The index of the next of `separators`, or the length. */
static inline size_t kdl_text_find(kdl_string text, size_t from, const char *separators) {
  size_t at = from;
  while (at < text.length && !kdl_is_one_of(text.data[at], separators))
    ++at;
  return at;
}

/* Of an identifier of C. */
static inline bool kdl_is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static inline bool kdl_is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads decimal digits at *at and moves *at past them. False without a digit, or where the number
 * is over UINT32_MAX; *at is then at the offending character. */
static inline bool kdl_text_parse_number(kdl_string text, size_t *at, uint32_t *out_number) {
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

/* A syntax error. `expected` is a constant that shows the grammar. */
typedef struct kdl_parse_error {
  size_t position; /* in the parsed text; its length where the text ends too early */
  const char *expected;
} kdl_parse_error;

static inline bool kdl_parse_fail(kdl_parse_error *out_error, size_t position,
                                  const char *expected) {
  if (out_error)
    *out_error = (kdl_parse_error){position, expected};
  return false;
}

/* Text that is written to the caller's buffer. It is truncated to fit and always ends with a
 * NUL. */
typedef struct kdl_out {
  char *data;
  size_t size;
  size_t used; /* without the NUL; never more than size - 1 */
} kdl_out;

void kdl_out_format(kdl_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Quoted text from elsewhere: truncated to 64 bytes, unprintable bytes as \xNN. */
void kdl_out_quoted(kdl_out *out, kdl_string text);

/* "position 3: found "x", expected ..." */
void kdl_out_parse_error(kdl_out *out, kdl_string text, kdl_parse_error error);

/* Words joined by '+', such as a CPU's arch with its features, in at most KDL_TEXT_SHORT bytes: as
 * many as fit, and the number of others. JSON has all of them. */
enum { KDL_TEXT_SHORT = 48 };
kdl_string kdl_text_short(kdl_string joined, char room[KDL_TEXT_SHORT + 1]);

/* ------------------------------------------------------------------------------------------ */
/* UTF-8                                                                                        */

/* Decodes the character at `text` and returns its length, 1 to 4; 0 for invalid UTF-8: a stray or
 * missing continuation byte, an overlong form, a surrogate, a number beyond Unicode. `size` is at
 * least 1. */
static inline size_t kdl_utf8_decode(const char *text, size_t size, uint32_t *out_code) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const uint8_t *b = (const uint8_t *)text;
  if (b[0] < 0x80) {
    *out_code = b[0];
    return 1;
  }
  size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
  if (b[0] < 0xc0 || b[0] > 0xf7 || length > size)
    return 0;
  uint32_t code = b[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((b[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (b[i] & 0x3fu);
  }
  if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return 0;
  *out_code = code;
  return length;
}

static inline size_t kdl_utf8_length(const char *text, size_t size) {
  uint32_t code;
  return kdl_utf8_decode(text, size, &code);
}

static inline bool kdl_utf8_is_valid(const char *text, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = kdl_utf8_length(text + at, size - at);
    if (length == 0)
      return false;
  }
  return true;
}

/* Encodes a character that is neither a surrogate nor beyond Unicode; returns its length, 1 to
 * 4. */
static inline size_t kdl_utf8_encode(uint32_t code, char out[4]) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6)
    out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> length & 0xf0) | code);
  return length;
}

/* Whether printing the character could change what a terminal shows of the text around it: control
 * characters of ASCII and Latin-1, Unicode's line and paragraph separators, and its bidirectional
 * controls. */
static inline bool kdl_utf8_is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* ------------------------------------------------------------------------------------------ */
/* Keys that index kernels                                                                      */

/* "kdl.kernel.NAME" (docs/metadata.md). */
#define KDL_KERNEL_PREFIX "kdl.kernel."

/* The NAME of such a key, which is not empty. */
static inline bool kdl_kernel_name(kdl_string key, kdl_string *out_name) {
  const size_t prefix = sizeof KDL_KERNEL_PREFIX - 1;
  if (key.length <= prefix || !kdl_text_starts(key, KDL_KERNEL_PREFIX))
    return false;
  *out_name = kdl_text_substr(key, prefix);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Messages without control characters                                                          */

/* Escapes control characters (kdl_utf8_is_control) in `text`, which has room for `size` bytes, as
 * \xNN, and bytes that are no UTF-8 where Latin-1 has control characters. Messages quote files,
 * which may hold anything: escaped, a quote can neither start a new line nor control a terminal.
 * Tabs stay, as do newlines before two spaces, which begin the further lines of a message. Text
 * that no longer fits is truncated. Escaping twice changes nothing. */
void kdl_text_escape_controls(char *text, size_t size);

/* A size as users write it: digits, then K, M, G or T for powers of 1024. */
kdl_status kdl_size_parse(const char *text, uint64_t *out_size);

/* A stream that writes to growing memory. Unlike glibc's open_memstream, it reports that memory ran
 * out: glibc's drops the text and reports success when it prints and when it closes. */

/* Returns a stream, or NULL when out of memory. Once fclose returns 0, *out_text is malloc'ed text
 * with a NUL after it. Where fclose fails, memory ran out and the text is NULL. Call fclose before
 * the variables go out of scope. */
FILE *kdl_text_stream(char **out_text, size_t *out_length);

#endif
