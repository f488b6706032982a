/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/cxx_name.h"
#include "support/base/text.h"

#include <string.h>

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         kdl_is_digit(c);
}

/* Mangled identifiers have their length in front: 5saxpy. Moves *at past the identifier; false
 * where none begins at *at. */
static bool next_identifier(kdl_string name, size_t *at, kdl_string *out) {
  size_t i = *at;
  size_t length = 0;
  while (i < name.length && kdl_is_digit(name.data[i]) && length < name.length)
    length = length * 10 + (size_t)(name.data[i++] - '0');
  if (i == *at || length == 0 || length > name.length - i)
    return false;
  *out = (kdl_string){name.data + i, length};
  *at = i + length;
  return true;
}

/* An identifier of internal linkage has an L before it. */
static bool next_nested(kdl_string name, size_t *at, kdl_string *out) {
  size_t start = *at + (*at < name.length && name.data[*at] == 'L');
  if (!next_identifier(name, &start, out))
    return false;
  *at = start;
  return true;
}

static bool is_mangled(kdl_string name) {
  return name.length > 3 && name.data[0] == '_' && name.data[1] == 'Z';
}

typedef struct {
  char *text;
  size_t size, used;
} sink;

static void sink_append(sink *out, const char *text, size_t length) {
  size_t room = out->size - 1 - out->used;
  if (length > room)
    length = room;
  memcpy(out->text + out->used, text, length);
  out->used += length;
}

bool kdl_cxx_name(kdl_string mangled, char *out, size_t size) {
  sink to = {out, size, 0};
  size_t at = 2;
  kdl_string identifier;
  if (!is_mangled(mangled) || size == 0)
    return false;
  bool is_nested = mangled.data[at] == 'N';
  at += is_nested;
  while (at < mangled.length && next_nested(mangled, &at, &identifier)) {
    bool is_anonymous = kdl_text_starts(identifier, "_GLOBAL__N_");
    if (is_anonymous && is_nested)
      continue;
    if (to.used)
      sink_append(&to, "::", 2);
    sink_append(&to, identifier.data, identifier.length);
    if (!is_nested)
      break;
  }
  if (to.used && at < mangled.length && mangled.data[at] == 'I')
    sink_append(&to, "<...>", 5);
  out[to.used] = '\0';
  return to.used > 0;
}

/* The next identifier of text that a user typed. */
static bool next_identifier_word(kdl_string text, size_t *at, kdl_string *out) {
  while (*at < text.length && !is_letter(text.data[*at]))
    ++*at;
  size_t start = *at;
  while (*at < text.length && is_letter(text.data[*at]))
    ++*at;
  *out = (kdl_string){text.data + start, *at - start};
  return *at > start;
}

/* Builtin types are letters in a mangled name, not identifiers. */
static bool is_builtin(kdl_string word) {
  static const char *const types[] = {"void",  "bool",   "char",   "short",    "int",  "long",
                                      "float", "double", "signed", "unsigned", "const"};
  return KDL_TEXT_AMONG(word, types) || kdl_is_digit(word.data[0]);
}

/* The next typed identifier that a mangled name would contain. */
static bool next_user_identifier(kdl_string text, size_t *at, kdl_string *out) {
  while (next_identifier_word(text, at, out)) {
    if (!is_builtin(*out))
      return true;
  }
  return false;
}

static bool identifier_matches(kdl_string identifier, kdl_string word, bool is_last) {
  if (is_last)
    return memmem(identifier.data, identifier.length, word.data, word.length) != NULL;
  return kdl_text_equal(identifier, word);
}

bool kdl_cxx_name_has(kdl_string mangled, kdl_string text) {
  size_t in_text = 0;
  kdl_string word, after, identifier;
  if (!is_mangled(mangled) || !next_user_identifier(text, &in_text, &word))
    return false;
  bool is_last = !next_user_identifier(text, &in_text, &after);
  for (size_t at = 2; at < mangled.length;) {
    if (!next_identifier(mangled, &at, &identifier)) {
      ++at;
      continue;
    }
    if (!identifier_matches(identifier, word, is_last))
      continue;
    if (is_last)
      return true;
    word = after;
    is_last = !next_user_identifier(text, &in_text, &after);
  }
  return false;
}
