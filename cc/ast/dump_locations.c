/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A node's locations follow its address:
 *
 *     FunctionDecl 0x55e0 prev 0x55d0 <saxpy.c:7:1, line:12:1> line:8:19 saxpy 'void (float)'
 *     ParmVarDecl 0x55d8 <col:25, col:31> col:31 used a 'float'
 *     TypedefDecl 0x5590 <<invalid sloc>> <invalid sloc> implicit __int128_t '__int128'
 */
#include "cc/ast/clang_ast.h"

#include <string.h>

/* Parses the number that ends at *end, and moves *end before its ':'. */
static bool parse_trailing_number(kdl_string text, size_t *end, uint32_t *out_number) {
  size_t begin = *end;
  while (begin > 0 && kdl_is_digit(text.data[begin - 1]))
    --begin;
  size_t at = begin;
  if (begin == *end || begin == 0 || text.data[begin - 1] != ':' ||
      !kdl_text_parse_number(text, &at, out_number))
    return false;
  *end = begin - 1;
  return true;
}

/* "saxpy.c:7:1", "line:8:19" or "col:31"; false for anything else. */
static bool parse_location(kdl_string text, cc_location *location) {
  uint32_t column, line;
  size_t end = text.length;
  if (!parse_trailing_number(text, &end, &column))
    return false;
  if (kdl_text_is((kdl_string){text.data, end}, "col")) {
    location->column = column;
    return true;
  }
  if (!parse_trailing_number(text, &end, &line))
    return false;
  if (!kdl_text_is((kdl_string){text.data, end}, "line"))
    location->file = (kdl_string){text.data, end};
  location->line = line;
  location->column = column;
  return true;
}

/* The end of the location that begins at `at`. Names in angle brackets are the preprocessor's. */
static size_t location_end(kdl_string node, size_t at, const char *ends) {
  if (at < node.length && node.data[at] == '<')
    at = kdl_text_find(node, at, ">") + 1;
  return at < node.length ? kdl_text_find(node, at, ends) : node.length;
}

/* Skips "FunctionDecl 0x55e0 parent 0x5510 prev 0x55d0 ". */
static size_t skip_addresses(kdl_string node) {
  size_t at = kdl_text_find(node, 0, " ") + 1;
  for (;;) {
    kdl_string rest = at < node.length ? kdl_text_substr(node, at) : (kdl_string){"", 0};
    if (!kdl_text_starts(rest, "0x") && !kdl_text_starts(rest, "parent ") &&
        !kdl_text_starts(rest, "prev "))
      return at;
    at = kdl_text_find(node, at, " ") + 1;
  }
}

unsigned cc_dump_level(kdl_string *line) {
  size_t indent = 0;
  while (indent < line->length && strchr(" |`-", line->data[indent]))
    ++indent;
  *line = kdl_text_substr(*line, indent);
  return (unsigned)(indent / 2);
}

cc_dump_locations cc_dump_read_locations(kdl_string node, cc_location *last) {
  cc_dump_locations places = {.first = {.line = 0}};
  size_t at = skip_addresses(node);
  if (at >= node.length || node.data[at] != '<')
    return places;
  for (int i = 0; i < 2 && at < node.length && node.data[at] != '>'; ++i) {
    at += i ? 2 : 1; /* skip '<' or ", " */
    size_t end = location_end(node, at, ",>");
    bool is_place =
        end <= node.length && parse_location((kdl_string){node.data + at, end - at}, last);
    places.final = is_place ? *last : (cc_location){.line = 0};
    if (i == 0)
      places.first = places.final;
    at = end;
  }
  places.name = places.first;
  at += 2; /* skip "> " */
  size_t end = at < node.length ? location_end(node, at, " ") : node.length;
  if (at < end && end <= node.length &&
      parse_location((kdl_string){node.data + at, end - at}, last))
    places.name = *last;
  return places;
}
