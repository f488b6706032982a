/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/json/reader.h"

#include "support/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [KDL_JSON_OBJECT] = "an object",      [KDL_JSON_ARRAY] = "an array",
    [KDL_JSON_STRING] = "a string",       [KDL_JSON_NUMBER] = "a number",
    [KDL_JSON_BOOLEAN] = "true or false", [KDL_JSON_NULL] = "null",
};

void kdl_json_start(kdl_json *json, const char *name, const void *data, size_t size) {
  *json = (kdl_json){.name = name, .text = data, .size = size};
}

kdl_status(kdl_json_fail)(const kdl_json *json, size_t offset, const char *format, ...) {
  size_t line = 1;
  size_t start = 0;
  for (size_t i = 0; i < offset && i < json->size; ++i) {
    if (json->text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  va_list args;
  va_start(args, format);
  kdl_fail_va(KDL_BAD_FILE, format, args);
  va_end(args);
  kdl_error_prefix("%s: line %zu, column %zu", json->name, line, offset - start + 1);
  return kdl_error_status();
}

/* "found 'x', expected ..." for the character at `offset`. */
static kdl_status fail_unexpected(const kdl_json *json, size_t offset, const char *expected) {
  char found[16] = "the end";
  if (offset < json->size) {
    unsigned char c = (unsigned char)json->text[offset];
    snprintf(found, sizeof found, c >= 0x20 && c < 0x7f ? "'%c'" : "byte 0x%02x", c);
  }
  return kdl_json_fail(json, offset, "found %s, expected %s", found, expected);
}

static char current(const kdl_json *json) {
  return json->at < json->size ? json->text[json->at] : '\0';
}

static void skip_whitespace(kdl_json *json) {
  while (json->at < json->size && json->text[json->at] && strchr(" \t\r\n", json->text[json->at]))
    ++json->at;
}

/* ------------------------------------------------------------------------------------------ */
/* Structure                                                                                    */

kdl_status kdl_json_peek(kdl_json *json, kdl_json_kind *out_kind) {
  skip_whitespace(json);
  char c = current(json);
  if (c == '{')
    *out_kind = KDL_JSON_OBJECT;
  else if (c == '[')
    *out_kind = KDL_JSON_ARRAY;
  else if (c == '"')
    *out_kind = KDL_JSON_STRING;
  else if (c == '-' || (c >= '0' && c <= '9'))
    *out_kind = KDL_JSON_NUMBER;
  else if (c == 't' || c == 'f')
    *out_kind = KDL_JSON_BOOLEAN;
  else if (c == 'n')
    *out_kind = KDL_JSON_NULL;
  else
    return fail_unexpected(json, json->at, "a JSON value");
  return KDL_OK;
}

static kdl_status expect_kind(kdl_json *json, kdl_json_kind expected) {
  kdl_json_kind found = expected;
  KDL_TRY(kdl_json_peek(json, &found));
  if (found != expected)
    return kdl_json_fail(json, json->at, "found %s, expected %s", kind_names[found],
                         kind_names[expected]);
  return KDL_OK;
}

static uint64_t level_bit(const kdl_json *json) {
  return (uint64_t)1 << (json->depth - 1);
}

kdl_status kdl_json_begin(kdl_json *json, kdl_json_kind kind) {
  KDL_TRY(expect_kind(json, kind));
  if (json->depth == KDL_JSON_DEPTH)
    return kdl_json_fail(json, json->at, "found values nested deeper than %d, expected no more",
                         KDL_JSON_DEPTH);
  ++json->at;
  ++json->depth;
  json->begun &= ~level_bit(json);
  json->array &= ~level_bit(json);
  if (kind == KDL_JSON_ARRAY)
    json->array |= level_bit(json);
  return KDL_OK;
}

/* Moves past the comma to the next item, or past the bracket that closes this level. */
static kdl_status advance(kdl_json *json, bool *out_more) {
  bool is_array = json->array & level_bit(json);
  skip_whitespace(json);
  if (current(json) == (is_array ? ']' : '}')) {
    ++json->at;
    --json->depth;
    *out_more = false;
    return KDL_OK;
  }
  if (json->begun & level_bit(json)) {
    if (current(json) != ',')
      return fail_unexpected(json, json->at, is_array ? "',' or ']'" : "',' or '}'");
    ++json->at;
    skip_whitespace(json);
  }
  json->begun |= level_bit(json);
  *out_more = true;
  return KDL_OK;
}

kdl_status kdl_json_next_item(kdl_json *json, bool *out_more) {
  return advance(json, out_more);
}

kdl_status kdl_json_finish(kdl_json *json) {
  skip_whitespace(json);
  return json->at < json->size ? fail_unexpected(json, json->at, "nothing after the value")
                               : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Strings                                                                                      */

/* The buffer for a string; `cut` is set when characters did not fit. */
typedef struct {
  char *data; /* NULL: skip the string */
  size_t room;
  size_t used;
  bool cut;
  bool has_nul;
} sink;

static void sink_append(sink *out, const char *bytes, size_t count) {
  if (!out->data)
    return;
  out->has_nul |= count == 1 && bytes[0] == '\0';
  if (out->cut || count >= out->room - out->used) {
    out->cut = true;
    return;
  }
  memcpy(out->data + out->used, bytes, count);
  out->used += count;
}

static kdl_status read_hex4(kdl_json *json, uint32_t *out_code) {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++json->at) {
    char c = current(json);
    uint32_t digit;
    if (c >= '0' && c <= '9')
      digit = (uint32_t)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      digit = (uint32_t)((c | 0x20) - 'a' + 10);
    else
      return fail_unexpected(json, json->at, "four hexadecimal digits after \\u");
    code = code << 4 | digit;
  }
  *out_code = code;
  return KDL_OK;
}

/* \uXXXX, and the second half of a surrogate pair where this is the first. */
static kdl_status read_unicode_escape(kdl_json *json, sink *out) {
  size_t start = json->at;
  uint32_t code;
  kdl_status status = read_hex4(json, &code);
  if (status != KDL_OK)
    return status;
  if (code >= 0xd800 && code < 0xdc00 && json->size - json->at >= 2 &&
      memcmp(json->text + json->at, "\\u", 2) == 0) {
    uint32_t low;
    json->at += 2;
    status = read_hex4(json, &low);
    if (status != KDL_OK)
      return status;
    if (low < 0xdc00 || low > 0xdfff)
      return kdl_json_fail(json, start, "found half of a surrogate pair, expected both halves");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  if (code >= 0xd800 && code < 0xe000)
    return kdl_json_fail(json, start, "found half of a surrogate pair, expected both halves");
  char bytes[4];
  sink_append(out, bytes, kdl_utf8_encode(code, bytes));
  return KDL_OK;
}

static kdl_status read_escape(kdl_json *json, sink *out) {
  static const char letters[] = "\"\\/bfnrt";
  static const char meanings[] = "\"\\/\b\f\n\r\t";
  char c = current(json);
  if (c == 'u') {
    ++json->at;
    return read_unicode_escape(json, out);
  }
  const char *letter = c ? strchr(letters, c) : NULL;
  if (!letter)
    return fail_unexpected(json, json->at, "one of \" \\ / b f n r t u after a backslash");
  sink_append(out, &meanings[letter - letters], 1);
  ++json->at;
  return KDL_OK;
}

static kdl_status scan_string(kdl_json *json, sink *out) {
  size_t start = json->at++;
  for (;;) {
    if (json->at >= json->size)
      return kdl_json_fail(json, start, "found a string without an end, expected '\"' to end it");
    char c = json->text[json->at];
    if (c == '"')
      break;
    if ((unsigned char)c < 0x20)
      return fail_unexpected(json, json->at, "control characters of a string as \\u00XX");
    if (c == '\\') {
      ++json->at;
      kdl_status status = read_escape(json, out);
      if (status != KDL_OK)
        return status;
      continue;
    }
    size_t length = kdl_utf8_length(json->text + json->at, json->size - json->at);
    if (length == 0)
      return fail_unexpected(json, json->at, "UTF-8");
    sink_append(out, json->text + json->at, length);
    json->at += length;
  }
  ++json->at;
  if (out->has_nul)
    return kdl_json_fail(json, start, "found a string with a NUL in it, expected none");
  if (out->data)
    out->data[out->used] = '\0';
  return KDL_OK;
}

kdl_status kdl_json_string(kdl_json *json, char *text, size_t room) {
  KDL_TRY(expect_kind(json, KDL_JSON_STRING));
  size_t start = json->at;
  sink out = {.data = text, .room = room};
  KDL_TRY(scan_string(json, &out));
  if (out.cut)
    return kdl_json_fail(json, start, "found a string too long, expected at most %zu bytes",
                         room - 1);
  return KDL_OK;
}

kdl_status kdl_json_next_key(kdl_json *json, char *key, size_t room, bool *out_more) {
  bool more;
  KDL_TRY(advance(json, &more));
  if (more) {
    if (current(json) != '"')
      return fail_unexpected(json, json->at, "a key in quotes");
    sink out = {.data = key, .room = room};
    KDL_TRY(scan_string(json, &out));
    skip_whitespace(json);
    if (current(json) != ':')
      return fail_unexpected(json, json->at, "':' after the key");
    ++json->at;
  }
  *out_more = more;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Numbers and words                                                                            */

static bool accept_char(kdl_json *json, char c) {
  if (current(json) != c || json->at >= json->size)
    return false;
  ++json->at;
  return true;
}

static kdl_status read_digits(kdl_json *json) {
  size_t start = json->at;
  while (current(json) >= '0' && current(json) <= '9')
    ++json->at;
  return json->at > start ? KDL_OK : fail_unexpected(json, json->at, "a digit");
}

/* Scans by the grammar of RFC 8259, section 6; the caller converts the value. */
static kdl_status scan_number(kdl_json *json) {
  accept_char(json, '-');
  if (!accept_char(json, '0'))
    KDL_TRY(read_digits(json));
  if (accept_char(json, '.'))
    KDL_TRY(read_digits(json));
  if ((accept_char(json, 'e') || accept_char(json, 'E'))) {
    if (!accept_char(json, '+'))
      accept_char(json, '-');
    KDL_TRY(read_digits(json));
  }
  return KDL_OK;
}

/* Scans the next number, which ends at the reader's position. */
static kdl_status scan_next_number(kdl_json *json, size_t *out_start) {
  kdl_status status = expect_kind(json, KDL_JSON_NUMBER);
  *out_start = json->at;
  return status == KDL_OK ? scan_number(json) : status;
}

kdl_status kdl_json_number(kdl_json *json, uint64_t *out_number) {
  size_t start;
  KDL_TRY(scan_next_number(json, &start));
  uint64_t number = 0;
  for (size_t i = start; i < json->at; ++i) {
    unsigned digit = (unsigned)(json->text[i] - '0');
    if (digit > 9 || number > (UINT64_MAX - digit) / 10)
      return kdl_json_fail(
          json, start, "found the number %.*s, expected a whole number from 0 to 2^64 - 1",
          json->at - start < 40 ? (int)(json->at - start) : 40, json->text + start);
    number = number * 10 + digit;
  }
  *out_number = number;
  return KDL_OK;
}

kdl_status kdl_json_real(kdl_json *json, double *out_real) {
  size_t start;
  KDL_TRY(scan_next_number(json, &start));
  /* strtod needs a terminated copy: the text may end at the buffer's end. */
  char text[64];
  size_t length = json->at - start;
  double real = HUGE_VAL;
  if (length < sizeof text) {
    memcpy(text, json->text + start, length);
    text[length] = '\0';
    real = strtod(text, NULL);
  }
  if (!isfinite(real))
    return kdl_json_fail(json, start, "found the number %.*s, expected one that a double holds",
                         length < 40 ? (int)length : 40, json->text + start);
  *out_real = real;
  return KDL_OK;
}

static kdl_status scan_literal(kdl_json *json, const char *word) {
  for (const char *c = word; *c; ++c) {
    if (!accept_char(json, *c))
      return fail_unexpected(json, json->at, "true, false or null");
  }
  return KDL_OK;
}

kdl_status kdl_json_boolean(kdl_json *json, bool *out_boolean) {
  KDL_TRY(expect_kind(json, KDL_JSON_BOOLEAN));
  bool value = current(json) == 't';
  KDL_TRY(scan_literal(json, value ? "true" : "false"));
  *out_boolean = value;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Anything                                                                                     */

static kdl_status skip_scalar(kdl_json *json, kdl_json_kind kind) {
  sink nowhere = {.data = NULL};
  if (kind == KDL_JSON_STRING)
    return scan_string(json, &nowhere);
  if (kind == KDL_JSON_NUMBER)
    return scan_number(json);
  char c = current(json);
  return scan_literal(json, c == 't' ? "true" : c == 'f' ? "false" : "null");
}

kdl_status kdl_json_skip(kdl_json *json) {
  unsigned level = json->depth;
  do {
    kdl_status status = KDL_OK;
    bool more = true;
    if (json->depth > level) {
      char key[1];
      status = json->array & level_bit(json) ? kdl_json_next_item(json, &more)
                                             : kdl_json_next_key(json, key, sizeof key, &more);
    }
    kdl_json_kind kind;
    if (status == KDL_OK && more)
      status = kdl_json_peek(json, &kind);
    if (status == KDL_OK && more)
      status = kind <= KDL_JSON_ARRAY ? kdl_json_begin(json, kind) : skip_scalar(json, kind);
    if (status != KDL_OK)
      return status;
  } while (json->depth > level);
  return KDL_OK;
}

size_t kdl_json_at(const kdl_json *json) {
  size_t at = json->at;
  while (at < json->size && json->text[at] && strchr(" \t\r\n,:", json->text[at]))
    ++at;
  return at;
}

kdl_status kdl_json_members(kdl_json *json, kdl_json_member *read, void *user) {
  char key[KDL_JSON_KEY];
  bool more = true;
  KDL_TRY(kdl_json_begin(json, KDL_JSON_OBJECT));
  while (more) {
    KDL_TRY(kdl_json_next_key(json, key, sizeof key, &more));
    if (more)
      KDL_TRY(read(json, key, user));
  }
  return KDL_OK;
}

kdl_status kdl_json_items(kdl_json *json, kdl_json_item *read, void *user) {
  bool more = true;
  KDL_TRY(kdl_json_begin(json, KDL_JSON_ARRAY));
  while (more) {
    KDL_TRY(kdl_json_next_item(json, &more));
    if (more)
      KDL_TRY(read(json, user));
  }
  return KDL_OK;
}
