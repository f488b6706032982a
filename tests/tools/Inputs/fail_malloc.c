/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Preloaded: lets the allocation of number KDL_FAIL_AT fail, counted from the program's start. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static int fails(void) {
  static atomic_int count;
  static int at = -1;
  if (at < 0) {
    const char *text = getenv("KDL_FAIL_AT");
    at = text ? atoi(text) : 0;
  }
  if (atomic_fetch_add(&count, 1) + 1 != at)
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  return fails() ? NULL : __libc_realloc(memory, size);
}
