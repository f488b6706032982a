/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fail_allocation.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names are the linker's. NOLINTBEGIN(bugprone-reserved-identifier) */

static atomic_uint count;
static unsigned fails_at; /* 0: none */
static bool fails_onwards;
static int told_to = -1;
static int survey_to = -1;

void kdl_fail_allocation(unsigned at, bool onwards, int fd) {
  fails_onwards = onwards;
  told_to = fd;
  atomic_store(&count, 0);
  fails_at = at;
}

void kdl_survey_allocations(int fd) {
  survey_to = fd;
}

static void survey(void) {
  enum { deepest = 16, own = 2 };
  void *callers[deepest];
  int depth = backtrace(callers, deepest);
  uint64_t place = 14695981039346656037u; /* FNV-1a, of words */
  for (int i = own; i < depth; ++i)
    place = (place ^ (uintptr_t)callers[i]) * 1099511628211u;
  if (write(survey_to, &place, sizeof place) != sizeof place)
    abort();
}

static bool fails(void) {
  if (survey_to >= 0)
    survey();
  if (fails_at == 0)
    return false;
  unsigned now = atomic_fetch_add(&count, 1) + 1;
  if (now != fails_at && !(fails_onwards && now > fails_at))
    return false;
  if (now == fails_at && write(told_to, "x", 1) != 1)
    abort();
  errno = ENOMEM;
  return true;
}

/* TYPE __wrap_NAME(PARAMETERS), which returns FAILED or what the real one returns. */
#define WRAP(type, name, parameters, arguments, failed)                                            \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters {                                                                  \
    return fails() ? (failed) : __real_##name arguments;                                           \
  }

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t number, size_t size), (number, size), NULL)
WRAP(void *, realloc, (void *memory, size_t size), (memory, size), NULL)
WRAP(void *, reallocarray, (void *memory, size_t number, size_t size), (memory, number, size), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
WRAP(int, posix_memalign, (void **memory, size_t alignment, size_t size), (memory, alignment, size),
     ENOMEM)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t length), (text, length), NULL)
WRAP(char *, realpath, (const char *path, char *out), (path, out), NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(int, scandir,
     (const char *path, struct dirent ***list, int (*takes)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, takes, compare), -1)
WRAP(ssize_t, getline, (char **line, size_t *size, FILE *file), (line, size, file), -1)
WRAP(int, vasprintf, (char **text, const char *format, va_list args), (text, format, args), -1)

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = fails() ? -1 : __real_vasprintf(text, format, args);
  va_end(args);
  return length;
}

/* NOLINTEND(bugprone-reserved-identifier) */
