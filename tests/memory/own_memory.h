/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Included before a test program's own source: what the program allocates itself never fails. */
#ifndef KDL_TESTS_OWN_MEMORY_H
#define KDL_TESTS_OWN_MEMORY_H

#include <dirent.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
DIR *__real_fdopendir(int fd);
int __real_setenv(const char *name, const char *value, int again);
void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
int __real_memfd_create(const char *name, unsigned flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *user);
int __real_posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const *words,
                       char *const *environment);
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
#define fdopendir __real_fdopendir
#define setenv __real_setenv
#define mmap __real_mmap
#define memfd_create __real_memfd_create
#define pthread_create __real_pthread_create
#define posix_spawn __real_posix_spawn

#endif
