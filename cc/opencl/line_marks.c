/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/opencl_c.h"
#include "tools/common/lines.h"

typedef struct {
  kdl_string file;
  uint32_t line;
} line_mark;

/* # 12 "folder/saxpy.c" 2 */
static bool parse_line_mark(kdl_string line, line_mark *out_place) {
  size_t at = 2;
  if (!kdl_text_starts(line, "# ") || !kdl_text_parse_number(line, &at, &out_place->line))
    return false;
  size_t begin = kdl_text_find(line, at, "\"") + 1;
  size_t end = line.length;
  while (end > begin && line.data[end - 1] != '"')
    --end;
  if (end > begin)
    out_place->file = (kdl_string){line.data + begin, end - 1 - begin};
  return true;
}

static kdl_string last_name(kdl_string file) {
  size_t slash = file.length;
  while (slash > 0 && file.data[slash - 1] != '/')
    --slash;
  return kdl_text_substr(file, slash);
}

cc_location cc_line_marks_location(kdl_string text, size_t at) {
  line_mark read = {{"", 0}, 0};
  kdl_string line;
  for (kdl_string rest = text; cli_next_line(&rest, &line);) {
    size_t start = (size_t)(line.data - text.data);
    if (parse_line_mark(line, &read))
      continue;
    if (at <= start + line.length)
      return (cc_location){read.file, read.line, (uint32_t)(at - start) + 1};
    ++read.line;
  }
  return (cc_location){.line = 0};
}

/* A few blank lines are shorter than a mark. */
static void write_line_mark(FILE *out, line_mark to, line_mark *from) {
  enum { few = 3 };
  bool is_near =
      kdl_text_equal(to.file, from->file) && to.line >= from->line && to.line - from->line <= few;
  if (!is_near)
    fprintf(out, "#line %u \"%.*s\"\n", to.line, CLI_STRING_ARGS(to.file));
  for (; is_near && from->line < to.line; ++from->line)
    fputc('\n', out);
  *from = to;
}

void cc_line_marks_write(FILE *out, kdl_string text) {
  line_mark read = {{"", 0}, 0}, written = {{"", 0}, 0};
  kdl_string line;
  while (cli_next_line(&text, &line)) {
    if (parse_line_mark(line, &read))
      continue;
    if (strspn(line.data, " \t") < line.length) { /* it is not blank */
      write_line_mark(out, (line_mark){last_name(read.file), read.line}, &written);
      fprintf(out, "%.*s\n", CLI_STRING_ARGS(line));
      ++written.line;
    }
    ++read.line;
  }
}
