/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Line tables are numbered nodes after the code:
 *
 *     %5 = call i32 @f(i32 noundef %4), !dbg !15
 *     !15 = !DILocation(line: 8, column: 19, scope: !12)
 */
#include "cc/ir/ir_text.h"
#include "tools/common/lines.h"

/* The text after "\n!12 = ", up to the end of the line; empty if there is no such node. */
static kdl_string metadata_node(kdl_string ir, kdl_string number) {
  char mark[32];
  kdl_string rest;
  snprintf(mark, sizeof mark, "\n%.*s = ", CLI_STRING_ARGS(number));
  cli_text_after(ir, mark, &rest);
  return cli_text_until(rest, "\n");
}

/* The value after `key` in a node, up to one of `ends`. */
static kdl_string metadata_field(kdl_string node, const char *key, const char *ends) {
  kdl_string rest;
  cli_text_after(node, key, &rest);
  return cli_text_until(rest, ends);
}

static cc_location location_of_node(kdl_string ir, kdl_string node, kdl_string with_file) {
  kdl_string line = metadata_field(node, "line: ", ",)"),
             column = metadata_field(node, "column: ", ",)");
  kdl_string file = metadata_node(ir, metadata_field(with_file, "file: ", ",)"));
  cc_location location = {.file = metadata_field(file, "filename: \"", "\"")};
  size_t at = 0;
  if (!kdl_text_parse_number(line, &at, &location.line))
    return (cc_location){.line = 0};
  at = 0;
  kdl_text_parse_number(column, &at, &location.column);
  return location;
}

cc_location cc_ir_location_of_line(kdl_string ir, kdl_string line) {
  kdl_string debug_node = metadata_node(ir, metadata_field(line, "!dbg ", ", "));
  return location_of_node(ir, debug_node,
                          metadata_node(ir, metadata_field(debug_node, "scope: ", ",)")));
}

/* The location of the first line that contains `mark`, with one of `behind` next to it. */
static cc_location location_of_text(kdl_string ir, const char *mark, const char *behind) {
  kdl_string rest = ir;
  while (cli_text_after(rest, mark, &rest)) {
    cc_location location = cc_ir_location_of_line(ir, cli_text_until(rest, "\n"));
    if (location.line && (!behind || kdl_text_find(rest, 0, behind) == 0))
      return location;
  }
  return (cc_location){.line = 0};
}

cc_location cc_ir_location_of_use(kdl_string ir, kdl_string function) {
  char mark[512];
  snprintf(mark, sizeof mark, "@%.*s", CLI_STRING_ARGS(function));
  return location_of_text(ir, mark, "(,) ");
}

cc_location cc_ir_location_of_type(kdl_string ir, const char *type) {
  return location_of_text(ir, type, NULL);
}

/* define internal i32 @index_of(i32 %0) #0 !dbg !12 { */
cc_location cc_ir_location_of_symbol(kdl_string ir, kdl_string name) {
  char mark[512];
  kdl_string line;
  if (name.length == 0)
    return (cc_location){.line = 0};
  snprintf(mark, sizeof mark, " @%.*s(", CLI_STRING_ARGS(name));
  for (kdl_string rest = ir; cli_next_line(&rest, &line);) {
    if (!kdl_text_starts(line, "define ") || !kdl_text_contains(line, mark))
      continue;
    kdl_string node = metadata_node(ir, metadata_field(line, "!dbg ", " "));
    return location_of_node(ir, node, node);
  }
  return cc_ir_location_of_use(ir, name);
}
