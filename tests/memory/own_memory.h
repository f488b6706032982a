/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Included before a test program's own source: what the program allocates itself never fails. */
#ifndef KDL_TESTS_OWN_MEMORY_H
#define KDL_TESTS_OWN_MEMORY_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
char *__real_realpath(const char *path, char *out);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__real_open_memstream(char **text, size_t *size);
DIR *__real_opendir(const char *path);
/* NOLINTEND(bugprone-reserved-identifier) */

#define malloc __real_malloc
#define calloc __real_calloc
#define realloc __real_realloc
#define aligned_alloc __real_aligned_alloc
#define strdup __real_strdup
#define strndup __real_strndup
#define realpath __real_realpath
#define fopen __real_fopen
#define fdopen __real_fdopen
#define open_memstream __real_open_memstream
#define opendir __real_opendir

#endif
