/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/memory.h"

#include "tools/common/report.h"
#include "tools/common/temp_folder.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of threads that fail at once, the first prints and ends the process while the others wait: their
 * messages would mix, and the process might end in the middle of one. */
_Noreturn void cli_fatal(const char *reason) {
  static atomic_flag is_ending = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&is_ending))
    pause();
  temp_folder_remove();
  const char *const parts[] = {cli_report_name(), ": error: ", reason, "\n"};
  enum { count = sizeof parts / sizeof *parts };
  struct iovec line[count];
  for (size_t i = 0; i < count; ++i)
    line[i] = (struct iovec){(void *)(uintptr_t)parts[i], strlen(parts[i])};
  ssize_t written = writev(STDERR_FILENO, line, count);
  (void)written;
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
