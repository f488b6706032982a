/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/opencl/opencl_c.h"
#include "cc/source/text.h"

typedef struct {
  kdl_string file;
  uint32_t line;
} place;

/* # 12 "folder/saxpy.c" 2 */
static bool read_mark(kdl_string line, place *out_place) {
  size_t at = 2;
  if (!kdl_text_starts(line, "# ") || !kdl_text_number(line, &at, &out_place->line))
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
  return kdl_text_from(file, slash);
}

cc_place cc_line_marks_place(kdl_string text, size_t at) {
  place read = {{"", 0}, 0};
  kdl_string line;
  for (kdl_string rest = text; cc_next_line(&rest, &line);) {
    size_t start = (size_t)(line.data - text.data);
    if (read_mark(line, &read))
      continue;
    if (at <= start + line.length)
      return (cc_place){read.file, read.line, (uint32_t)(at - start) + 1};
    ++read.line;
  }
  return (cc_place){.line = 0};
}

/* A few lines that are left out are cheaper than a mark. */
static void go_to(FILE *out, place to, place *from) {
  enum { few = 3 };
  bool is_near =
      kdl_text_equal(to.file, from->file) && to.line >= from->line && to.line - from->line <= few;
  if (!is_near)
    fprintf(out, "#line %u \"%.*s\"\n", to.line, CC_SHOWN(to.file));
  for (; is_near && from->line < to.line; ++from->line)
    fputc('\n', out);
  *from = to;
}

void cc_line_marks_write(FILE *out, kdl_string text) {
  place read = {{"", 0}, 0}, written = {{"", 0}, 0};
  kdl_string line;
  while (cc_next_line(&text, &line)) {
    if (read_mark(line, &read))
      continue;
    if (strspn(line.data, " \t") < line.length) { /* it is not blank */
      go_to(out, (place){last_name(read.file), read.line}, &written);
      fprintf(out, "%.*s\n", CC_SHOWN(line));
      ++written.line;
    }
    ++read.line;
  }
}
