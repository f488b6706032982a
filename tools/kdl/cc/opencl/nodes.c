/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/nodes.h"

#include "base/error.h"
#include "cc/source/place.h"

#include <string.h>

/* Where the lines of a text begin. */
typedef struct {
  kdl_string text;
  size_t *starts;
  size_t count;
} lines;

static bool find_lines(kdl_arena *arena, kdl_string text, lines *out) {
  size_t count = 1;
  for (size_t i = 0; i < text.length; ++i)
    count += text.data[i] == '\n';
  *out = (lines){text, kdl_arena_alloc(arena, count * sizeof *out->starts), 0};
  if (!out->starts)
    return false;
  out->starts[out->count++] = 0;
  for (size_t i = 0; i < text.length; ++i) {
    if (text.data[i] == '\n')
      out->starts[out->count++] = i + 1;
  }
  return true;
}

/* The text's length where there is no such place. */
static size_t offset_of(const lines *all, cc_place place) {
  if (place.line == 0 || place.line > all->count)
    return all->text.length;
  size_t at = all->starts[place.line - 1] + place.column - 1;
  return at < all->text.length ? at : all->text.length;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || kdl_is_digit(c) || c == '_' ||
         (unsigned char)c >= 0x80;
}

/* A number goes on behind '.', and behind the sign of an exponent. */
static size_t end_of_number(kdl_string text, size_t at) {
  while (at < text.length && (is_letter(text.data[at]) || text.data[at] == '.' ||
                              (strchr("+-", text.data[at]) && strchr("eEpP", text.data[at - 1]))))
    ++at;
  return at;
}

static size_t end_of_quoted(kdl_string text, size_t at) {
  char quote = text.data[at++];
  while (at < text.length && text.data[at] != quote)
    at += text.data[at] == '\\' ? 2 : 1;
  return at < text.length ? at + 1 : text.length;
}

/* Behind the token that begins at `at`, as far as one may end an expression or a declaration. */
static size_t end_of_token(kdl_string text, size_t at) {
  if (at >= text.length)
    return text.length;
  char c = text.data[at], next = at + 1 < text.length ? text.data[at + 1] : ' ';
  if (kdl_is_digit(c) || (c == '.' && kdl_is_digit(next)))
    return end_of_number(text, at);
  if (c == '"' || c == '\'')
    return end_of_quoted(text, at);
  if (is_letter(c)) {
    while (at < text.length && is_letter(text.data[at]))
      ++at;
    return at;
  }
  return at + ((c == '+' || c == '-') && next == c ? 2 : 1);
}

/* What stands between quotes from *at on; *at is then behind the second. */
static kdl_string take_quoted(kdl_string line, size_t *at) {
  size_t begin = *at + 1, end = kdl_text_find(line, begin, "'");
  *at = end < line.length ? end + 1 : line.length;
  return (kdl_string){line.data + begin, end - begin};
}

/* "used a 'T':'float' lvalue": the last word before the type, the type, and what follows. */
static void read_words(kdl_string line, cc_node *node) {
  size_t at = 0;
  while (at < line.length && !(line.data[at] == '\'' && at > 0 && line.data[at - 1] == ' '))
    ++at;
  if (at >= line.length)
    return;
  size_t end = at - 1, begin = end;
  while (begin > 0 && line.data[begin - 1] != ' ')
    --begin;
  node->name = (kdl_string){line.data + begin, end - begin};
  node->type = take_quoted(line, &at);
  if (at + 1 < line.length && line.data[at] == ':' && line.data[at + 1] == '\'') {
    ++at;
    node->type = take_quoted(line, &at);
  }
  node->rest = kdl_text_from(line, at);
}

static void read_node(kdl_string line, const char *file, const lines *all, cc_place *last,
                      cc_node *node) {
  size_t indent = 0;
  while (indent < line.length && strchr(" |`-", line.data[indent]))
    ++indent;
  line = kdl_text_from(line, indent);
  cc_place first;
  cc_place final;
  cc_place_range(line, last, &first, &final);
  *node =
      (cc_node){.level = (unsigned)(indent / 2), .kind = {line.data, kdl_text_find(line, 0, " ")}};
  read_words(line, node);
  if (!kdl_text_is(first.file, file) || !kdl_text_is(final.file, file))
    return;
  node->begin = offset_of(all, first);
  node->end = end_of_token(all->text, offset_of(all, final));
  if (node->end < node->begin)
    node->end = node->begin;
}

kdl_status cc_nodes_read(kdl_arena *arena, kdl_string dump, const char *file, kdl_string text,
                         cc_nodes *out_nodes) {
  size_t count = 1;
  for (size_t i = 0; i < dump.length; ++i)
    count += dump.data[i] == '\n';
  lines all;
  cc_node *items = kdl_arena_alloc(arena, count * sizeof *items);
  if (!items || !find_lines(arena, text, &all))
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the nodes of a kernel's syntax");
  cc_place last = {.line = 0};
  *out_nodes = (cc_nodes){items, 0};
  for (size_t at = 0, end; at < dump.length; at = end + 1) {
    end = kdl_text_find(dump, at, "\n");
    read_node((kdl_string){dump.data + at, end - at}, file, &all, &last,
              &items[out_nodes->count++]);
  }
  return KDL_OK;
}

size_t cc_nodes_child(const cc_nodes *nodes, size_t node, size_t n) {
  unsigned level = nodes->items[node].level;
  for (size_t i = node + 1; i < nodes->count && nodes->items[i].level > level; ++i) {
    if (nodes->items[i].level == level + 1 && n-- == 0)
      return i;
  }
  return nodes->count;
}
