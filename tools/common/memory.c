/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/memory.h"

#include "tools/common/report.h"
#include "tools/common/temp_folder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void cli_fatal(const char *reason) {
  const char *const parts[] = {cli_report_name(), ": error: ", reason, "\n"};
  bool is_written = true;
  temp_folder_remove();
  for (size_t i = 0; i < sizeof parts / sizeof *parts && is_written; ++i)
    is_written = write(STDERR_FILENO, parts[i], strlen(parts[i])) >= 0;
  _exit(CLI_EXIT_BAD_INPUT);
}

_Noreturn void cli_out_of_memory(void) {
  cli_fatal("out of memory");
}

void *xmalloc(size_t size) {
  return cli_check_alloc(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size) {
  return cli_check_alloc(count && size ? calloc(count, size) : calloc(1, 1));
}

void *xrealloc(void *memory, size_t size) {
  return cli_check_alloc(realloc(memory, size ? size : 1));
}

void *xreallocarray(void *memory, size_t count, size_t size) {
  return cli_check_alloc(count && size ? reallocarray(memory, count, size) : realloc(memory, 1));
}

char *xstrdup(const char *text) {
  return cli_check_alloc(strdup(text));
}

char *xstrndup(const char *text, size_t length) {
  size_t used = strnlen(text, length); /* ASan's strndup reads up to a NUL */
  char *copy = xmalloc(used + 1);
  memcpy(copy, text, used);
  copy[used] = '\0';
  return copy;
}

char *xasprintf(const char *format, ...) {
  char *text;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  return cli_check_alloc(length < 0 ? NULL : text);
}
