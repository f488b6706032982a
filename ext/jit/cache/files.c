/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/files.h"

#include "support/base/array.h"
#include "support/base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Names                                                                                        */

static size_t count_hex(const char *text) {
  return strspn(text, "0123456789abcdef");
}

/* The kind of a file, by its name. */
static kdl_cache_file_kind cache_file_kind(const char *name) {
  const size_t digits = KDL_DIGEST_TEXT - 1;
  const size_t salt = 16;
  if (count_hex(name) != digits)
    return KDL_CACHE_FILE_OTHER;
  const char *rest = name + digits;
  if (strcmp(rest, ".kdl") == 0)
    return KDL_CACHE_FILE_ENTRY;
  if (strcmp(rest, ".lock") == 0 || strcmp(rest, ".lease") == 0)
    return KDL_CACHE_FILE_LOCK;
  if (rest[0] == '.' && count_hex(rest + 1) == salt && strcmp(rest + 1 + salt, ".tmp") == 0)
    return KDL_CACHE_FILE_TEMPORARY;
  return KDL_CACHE_FILE_OTHER;
}

/* ------------------------------------------------------------------------------------------ */
/* Listing                                                                                      */

typedef struct {
  kdl_cache_file *files;
  size_t count;
  size_t capacity;
} file_list;

static bool file_list_append(file_list *list, const kdl_cache_file *file) {
  kdl_cache_file *files =
      kdl_array_grow(list->files, list->count, &list->capacity, 64, sizeof *files);
  if (!files)
    return false;
  list->files = files;
  list->files[list->count++] = *file;
  return true;
}

static bool add_file(int folder, const char *name, file_list *list) {
  struct stat info;
  kdl_cache_file file = {.kind = cache_file_kind(name)};
  if (file.kind == KDL_CACHE_FILE_OTHER || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode))
    return true;
  memcpy(file.name, name, strlen(name) + 1);
  file.size = (uint64_t)info.st_size;
  file.used = info.st_mtim;
  return file_list_append(list, &file);
}

static int compare_last_use(const void *left, const void *right) {
  const kdl_cache_file *a = left;
  const kdl_cache_file *b = right;
  if (a->used.tv_sec != b->used.tv_sec)
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec)
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

kdl_status kdl_cache_files_list(int folder, kdl_cache_file **out_files, size_t *out_count) {
  int list_fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = list_fd >= 0 ? fdopendir(list_fd) : NULL;
  if (!stream) {
    int reason = errno;
    if (list_fd >= 0)
      close(list_fd);
    return kdl_fail(kdl_status_from_errno(reason), "cannot list the folder: %s", strerror(reason));
  }
  file_list list = {0};
  bool fits = true;
  for (struct dirent *item; fits && (item = readdir(stream));)
    fits = add_file(folder, item->d_name, &list);
  closedir(stream);
  if (!fits) {
    free(list.files);
    return kdl_fail(KDL_NO_MEMORY, "out of memory to list the folder");
  }
  if (list.count)
    qsort(list.files, list.count, sizeof *list.files, compare_last_use);
  *out_files = list.files;
  *out_count = list.count;
  return KDL_OK;
}
