/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/page.h"

#include "base/error.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inside a script element a '<' could end it. */
static void put_escaped(const char *json, size_t size, FILE *file) {
  for (size_t i = 0; i < size; ++i) {
    if (json[i] == '<')
      fputs("\\u003c", file);
    else
      putc(json[i], file);
  }
}

kdl_status cli_page_save(const char *path, const char *page, size_t page_size, const char *json,
                         size_t json_size) {
  static const char mark[] = "@DATA@";
  const char *at = memmem(page, page_size, mark, sizeof mark - 1);
  const char *behind = at + sizeof mark - 1;
  char *made = NULL;
  size_t made_size = 0;
  FILE *file = open_memstream(&made, &made_size);
  if (file) {
    fwrite(page, 1, (size_t)(at - page), file);
    put_escaped(json, json_size, file);
    fwrite(behind, 1, page_size - (size_t)(behind - page), file);
  }
  kdl_status status = file && fclose(file) == 0 ? cli_output_save(path, made, made_size)
                                                : kdl_fail(KDL_NO_MEMORY, "out of memory");
  free(made);
  return status;
}
