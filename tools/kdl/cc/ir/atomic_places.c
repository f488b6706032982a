/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/ir/atomic_places.h"

#include "base/error.h"
#include "base/text_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cc_atomic_places_may_be(kdl_string ir) {
  return (kdl_text_contains(ir, "atomicrmw ") || kdl_text_contains(ir, "cmpxchg ")) &&
         kdl_text_contains(ir, " addrspace(3) global ");
}

/* Where the bracket that opens at `at` is closed. */
static size_t end_of_bracket(kdl_string line, size_t at) {
  unsigned depth = 0;
  for (; at < line.length; ++at) {
    depth += line.data[at] == '(';
    if (line.data[at] == ')' && --depth == 0)
      return at;
  }
  return line.length;
}

/* Writes a line, and before it its first constant address; false where it has none. */
static bool write_line(FILE *out, kdl_string line, unsigned number) {
  static const char mark[] = " getelementptr ";
  bool is_atomic = kdl_text_contains(line, "atomicrmw ") || kdl_text_contains(line, "cmpxchg ");
  const char *found = is_atomic ? memmem(line.data, line.length, mark, sizeof mark - 1) : NULL;
  size_t begin = found ? (size_t)(found - line.data) + 1 : 0;
  size_t open = found ? kdl_text_find(line, begin, "(") : line.length;
  size_t close = end_of_bracket(line, open);
  if (close >= line.length) {
    fwrite(line.data, 1, line.length, out);
    return false;
  }
  fprintf(out, "  %%kdl.place.%u = %.*s%.*s\n", number, (int)(open - begin), line.data + begin,
          (int)(close - open - 1), line.data + open + 1);
  fprintf(out, "%.*s%%kdl.place.%u%.*s", (int)begin, line.data, number,
          (int)(line.length - close - 1), line.data + close + 1);
  return true;
}

kdl_status cc_atomic_places_lower(kdl_arena *arena, kdl_string ir, kdl_string *out_ir) {
  char *text = NULL;
  size_t size = 0;
  unsigned count = 0;
  FILE *out = kdl_text_stream(&text, &size);
  for (size_t at = 0, end; out && at < ir.length; at = end + 1) {
    end = kdl_text_find(ir, at, "\n");
    count += write_line(out, (kdl_string){ir.data + at, end - at}, count);
    fputc('\n', out);
  }
  bool failed = !out || ferror(out);
  failed |= !out || fclose(out) != 0;
  kdl_string kept = failed ? (kdl_string){NULL, 0} : kdl_arena_string(arena, text, size);
  free(text);
  if (!kept.data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the atomics of group memory");
  *out_ir = kept;
  return KDL_OK;
}
