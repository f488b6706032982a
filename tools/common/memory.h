/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Memory for programs. The library returns KDL_NO_MEMORY, because its caller may continue; a
 * program ends with a message and exit code 1. Files stay intact, as when the process is killed: an
 * output file gets its name when it is complete (support/system/file.h). The run's temporary folder
 * is removed (tools/common/temp_folder.h).
 */
#ifndef KDL_TOOLS_COMMON_MEMORY_H
#define KDL_TOOLS_COMMON_MEMORY_H

#include "support/base/arena.h"
#include "support/base/array.h"
#include "support/base/string_list.h"
#include "support/base/text.h"

#include <stddef.h>
#include <stdio.h>

/* Prints "NAME: error: REASON" and exits with code 1. Other threads may still run, so nothing is
 * freed and no exit handler runs. Signal handlers may call it. */
_Noreturn void cli_fatal(const char *reason);
_Noreturn void cli_out_of_memory(void);

/* Returns the pointer; ends the program for NULL. */
static inline void *cli_check_alloc(void *memory) {
  if (!memory)
    cli_out_of_memory();
  return memory;
}

void *xmalloc(size_t size) __attribute__((__malloc__, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((__malloc__, returns_nonnull));
void *xrealloc(void *memory, size_t size) __attribute__((returns_nonnull));
void *xreallocarray(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((__malloc__, returns_nonnull));
char *xstrndup(const char *text, size_t length) __attribute__((__malloc__, returns_nonnull));
char *xasprintf(const char *format, ...)
    __attribute__((__malloc__, returns_nonnull, format(printf, 1, 2)));

/* kdl_array_grow */
static inline void *xgrow(void *items, size_t count, size_t *capacity, size_t first, size_t size) {
  return cli_check_alloc(kdl_array_grow(items, count, capacity, first, size));
}

/* kdl_arena_alloc, kdl_arena_string and kdl_arena_format, for arenas without a limit. */
static inline void *xarena_alloc(kdl_arena *arena, size_t size) {
  return cli_check_alloc(kdl_arena_alloc(arena, size));
}

static inline kdl_string xarena_string(kdl_arena *arena, const void *data, size_t length) {
  kdl_string copy = kdl_arena_string(arena, data, length);
  cli_check_alloc((void *)(uintptr_t)copy.data);
  return copy;
}

#define xarena_format(arena, ...)                                                                  \
  ((const char *)cli_check_alloc((void *)(uintptr_t)kdl_arena_format(arena, __VA_ARGS__)))

/* kdl_string_list_append: a copy of the string. */
static inline void xstring_list_append(kdl_string_list *list, const char *text) {
  kdl_string_list_append(list, text);
  if (list->failed)
    cli_out_of_memory();
}

/* kdl_text_stream, and fclose of such a stream, after which the text is valid. */
static inline FILE *xtext_stream(char **out_text, size_t *out_length) {
  return cli_check_alloc(kdl_text_stream(out_text, out_length));
}

static inline void xtext_close(FILE *stream) {
  if (fclose(stream) != 0)
    cli_out_of_memory();
}

#endif
