/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM 22's SPIR-V backend treats the byte offset of a constant address in an atomic operation as
 * an offset in elements:
 *
 *     atomicrmw add ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @m, i64 4),
 * i32 1
 *
 * adds to m[4] and not to m[1]. With the address in an instruction, the backend is right.
 */
#include "compiler/text/ir_text.h"
#include "tools/common/lines.h"

static bool has_atomic(kdl_string ir) {
  return kdl_text_contains(ir, "atomicrmw ") || kdl_text_contains(ir, "cmpxchg ");
}

bool ir_text_may_have_atomic_addresses(kdl_string ir) {
  return has_atomic(ir) && kdl_text_contains(ir, " addrspace(3) global ");
}

/* The end of the bracket that opens at `at`. */
static size_t end_of_bracket(kdl_string line, size_t at) {
  unsigned depth = 0;
  for (; at < line.length; ++at) {
    depth += line.data[at] == '(';
    if (line.data[at] == ')' && --depth == 0)
      return at;
  }
  return line.length;
}

/* Writes a line after an instruction for its first constant address; false if it has none. */
static bool write_line_with_addresses(FILE *out, kdl_string line, unsigned number) {
  kdl_string rest;
  bool is_found = has_atomic(line) && cli_text_after(line, " getelementptr ", &rest);
  size_t begin = is_found ? (size_t)(rest.data - line.data) - strlen("getelementptr ") : 0;
  size_t open = is_found ? kdl_text_find(line, begin, "(") : line.length;
  size_t close = end_of_bracket(line, open);
  if (close >= line.length) {
    fprintf(out, "%.*s\n", CLI_STRING_ARGS(line));
    return false;
  }
  fprintf(out, "  %%kdl.place.%u = %.*s%.*s\n", number, (int)(open - begin), line.data + begin,
          (int)(close - open - 1), line.data + open + 1);
  fprintf(out, "%.*s%%kdl.place.%u%.*s\n", (int)begin, line.data, number,
          CLI_STRING_ARGS(kdl_text_substr(line, close + 1)));
  return true;
}

kdl_string ir_text_lower_atomic_addresses(kdl_arena *arena, kdl_string ir) {
  char *text;
  size_t size;
  unsigned count = 0;
  kdl_string line;
  FILE *out = xtext_stream(&text, &size);
  while (cli_next_line(&ir, &line))
    count += write_line_with_addresses(out, line, count);
  return cli_text_close(arena, out, &text, &size);
}
