/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/ast/clang_ast.h"
#include "tools/common/lines.h"

/* Where the lines of a text begin. */
typedef struct {
  kdl_string text;
  size_t *starts;
  size_t count;
} lines;

static size_t count_lines(kdl_string text) {
  size_t count = 1;
  for (size_t i = 0; i < text.length; ++i)
    count += text.data[i] == '\n';
  return count;
}

static lines find_lines(kdl_arena *arena, kdl_string text) {
  lines all = {text, xarena_alloc(arena, count_lines(text) * sizeof *all.starts), 0};
  all.starts[all.count++] = 0;
  for (size_t i = 0; i < text.length; ++i) {
    if (text.data[i] == '\n')
      all.starts[all.count++] = i + 1;
  }
  return all;
}

/* The text's length if the location is not in the text. */
static size_t offset_of_location(const lines *all, cc_location location) {
  if (location.line == 0 || location.line > all->count)
    return all->text.length;
  size_t at = all->starts[location.line - 1] + location.column - 1;
  return at < all->text.length ? at : all->text.length;
}

static bool is_letter(char c) {
  return cli_is_word(c) || (unsigned char)c >= 0x80;
}

/* A number continues after '.', and after the sign of an exponent. */
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

/* The end of the token at `at`, for tokens that may end an expression or a declaration. */
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

/* The text between the quotes at *at; moves *at past the second quote. */
static kdl_string consume_quoted(kdl_string line, size_t *at) {
  size_t begin = *at + 1, end = kdl_text_find(line, begin, "'");
  *at = end < line.length ? end + 1 : line.length;
  return (kdl_string){line.data + begin, end - begin};
}

/* "used a 'T':'float' lvalue": the type without typedefs, and what follows. */
static void parse_node_type(kdl_string line, cc_node *node) {
  kdl_string rest;
  if (!cli_text_after(line, " '", &rest))
    return;
  size_t at = (size_t)(rest.data - line.data) - 1;
  node->type = consume_quoted(line, &at);
  if (at + 1 < line.length && line.data[at] == ':' && line.data[at + 1] == '\'') {
    ++at;
    node->type = consume_quoted(line, &at);
  }
  node->details = kdl_text_substr(line, at);
}

static cc_node parse_node(kdl_string line, const char *file, const lines *all, cc_location *last) {
  cc_node node = {.level = cc_dump_level(&line), .type = {"", 0}, .details = {"", 0}};
  cc_dump_locations places = cc_dump_read_locations(line, last);
  node.kind = cli_text_until(line, " ");
  parse_node_type(line, &node);
  if (!kdl_text_is(places.first.file, file) || !kdl_text_is(places.final.file, file))
    return node;
  node.begin = offset_of_location(all, places.first);
  node.end = end_of_token(all->text, offset_of_location(all, places.final));
  if (node.end < node.begin)
    node.end = node.begin;
  return node;
}

cc_nodes cc_ast_nodes(kdl_arena *arena, kdl_string dump, const char *file, kdl_string text) {
  cc_nodes nodes = {xarena_alloc(arena, count_lines(dump) * sizeof *nodes.items), 0};
  lines all = find_lines(arena, text);
  cc_location last = {.line = 0};
  kdl_string line;
  while (cli_next_line(&dump, &line))
    nodes.items[nodes.count++] = parse_node(line, file, &all, &last);
  return nodes;
}

size_t cc_ast_child(const cc_nodes *nodes, size_t node, size_t n) {
  unsigned level = nodes->items[node].level;
  for (size_t i = node + 1; i < nodes->count && nodes->items[i].level > level; ++i) {
    if (nodes->items[i].level == level + 1 && n-- == 0)
      return i;
  }
  return nodes->count;
}
