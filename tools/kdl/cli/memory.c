/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/memory.h"

#include "cli/own_folder.h"
#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Other threads may be at work: nothing that they use is freed, and no handler of exit runs. */
_Noreturn void cli_out_of_memory(void) {
  static const char message[] = ": error: out of memory\n";
  const char *name = cli_report_name();
  own_folder_end();
  if (write(STDERR_FILENO, name, strlen(name)) < 0 ||
      write(STDERR_FILENO, message, sizeof message - 1) < 0)
    _exit(CLI_EXIT_BAD_INPUT);
  _exit(CLI_EXIT_BAD_INPUT);
}

void *xmalloc(size_t size) {
  return cli_must(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size) {
  return cli_must(count && size ? calloc(count, size) : calloc(1, 1));
}

void *xrealloc(void *memory, size_t size) {
  return cli_must(realloc(memory, size ? size : 1));
}

void *xreallocarray(void *memory, size_t count, size_t size) {
  return cli_must(count && size ? reallocarray(memory, count, size) : realloc(memory, 1));
}

char *xstrdup(const char *text) {
  return cli_must(strdup(text));
}

char *xstrndup(const char *text, size_t length) {
  return cli_must(strndup(text, length));
}

char *xasprintf(const char *format, ...) {
  char *text;
  va_list args;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  return cli_must(length < 0 ? NULL : text);
}
