/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/files.h"

#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

static const char magic[8] = {'K', 'D', 'L', 'C', 'A', 'C', 'H', 'E'};

enum {
  offset_version = 8,
  offset_kind = 12,
  offset_link_key_size = 16,
  offset_notes_size = 20,
  offset_image_size = 24,
  offset_digest = 32,
};

static kdl_digest entry_digest(const uint8_t *data, size_t size) {
  kdl_blake2b hash;
  kdl_blake2b_start(&hash);
  kdl_blake2b_add(&hash, data, offset_digest);
  kdl_blake2b_add(&hash, data + KDL_CACHE_HEADER, size - KDL_CACHE_HEADER);
  return kdl_blake2b_finish(&hash);
}

static kdl_status check_entry_sizes(const uint8_t *data, size_t size) {
  uint64_t link_key = kdl_load_u32(data + offset_link_key_size);
  uint64_t notes = kdl_load_u32(data + offset_notes_size);
  uint64_t image = kdl_load_u64(data + offset_image_size);
  if (link_key > KDL_CACHE_LIMIT_TEXT || notes > KDL_CACHE_LIMIT_TEXT ||
      image > KDL_CACHE_LIMIT_IMAGE)
    return kdl_fail(KDL_BAD_FILE,
                    "offset %d: found sizes of %" PRIu64 ", %" PRIu64 " and %" PRIu64
                    " bytes, expected at most %d, %d and %" PRIu64,
                    offset_link_key_size, link_key, notes, image, KDL_CACHE_LIMIT_TEXT,
                    KDL_CACHE_LIMIT_TEXT, KDL_CACHE_LIMIT_IMAGE);
  uint64_t expected_size = KDL_CACHE_HEADER + link_key + notes + image;
  if (expected_size != size)
    return kdl_fail(KDL_BAD_FILE, "found %zu bytes, expected %" PRIu64 " as its header says", size,
                    expected_size);
  return KDL_OK;
}

kdl_status kdl_cache_entry_parse(const void *bytes, size_t size, kdl_cache_entry *out_entry) {
  const uint8_t *data = bytes;
  if (size < KDL_CACHE_HEADER)
    return kdl_fail(KDL_BAD_FILE, "found %zu bytes, expected a header of %d", size,
                    KDL_CACHE_HEADER);
  if (memcmp(data, magic, sizeof magic) != 0)
    return kdl_fail(KDL_BAD_FILE, "offset 0: found no \"%.8s\"", magic);
  uint32_t version = kdl_load_u32(data + offset_version);
  if (version != KDL_CACHE_VERSION)
    return kdl_fail(KDL_BAD_FILE, "offset %d: found version %" PRIu32 ", expected %d",
                    offset_version, version, KDL_CACHE_VERSION);
  KDL_TRY(check_entry_sizes(data, size));
  kdl_digest digest = entry_digest(data, size);
  if (memcmp(digest.bytes, data + offset_digest, sizeof digest.bytes) != 0)
    return kdl_fail(KDL_BAD_FILE, "offset %d: found a digest that is not that of its contents",
                    offset_digest);
  const char *text = (const char *)data + KDL_CACHE_HEADER;
  size_t link_key = kdl_load_u32(data + offset_link_key_size);
  size_t notes = kdl_load_u32(data + offset_notes_size);
  *out_entry = (kdl_cache_entry){
      .link_key = {text, link_key},
      .notes = {text + link_key, notes},
      .kind = (kdl_image_kind)kdl_load_u32(data + offset_kind),
      .image = text + link_key + notes,
      .image_size = (size_t)kdl_load_u64(data + offset_image_size),
  };
  return KDL_OK;
}

kdl_status kdl_cache_entry_serialize(const kdl_cache_entry *entry, void **out_data,
                                     size_t *out_size) {
  if (entry->link_key.length > KDL_CACHE_LIMIT_TEXT || entry->notes.length > KDL_CACHE_LIMIT_TEXT ||
      entry->image_size > KDL_CACHE_LIMIT_IMAGE)
    return kdl_fail(KDL_NO_MEMORY, "an image of %zu bytes is too large for the cache",
                    entry->image_size);
  size_t size = KDL_CACHE_HEADER + entry->link_key.length + entry->notes.length + entry->image_size;
  uint8_t *data = calloc(1, size);
  if (!data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a cache entry of %zu bytes", size);
  memcpy(data, magic, sizeof magic);
  kdl_store_u32(data + offset_version, KDL_CACHE_VERSION);
  kdl_store_u32(data + offset_kind, (uint32_t)entry->kind);
  kdl_store_u32(data + offset_link_key_size, (uint32_t)entry->link_key.length);
  kdl_store_u32(data + offset_notes_size, (uint32_t)entry->notes.length);
  kdl_store_u64(data + offset_image_size, entry->image_size);
  uint8_t *at = data + KDL_CACHE_HEADER;
  memcpy(at, entry->link_key.data, entry->link_key.length);
  at += entry->link_key.length;
  if (entry->notes.length)
    memcpy(at, entry->notes.data, entry->notes.length);
  at += entry->notes.length;
  if (entry->image_size)
    memcpy(at, entry->image, entry->image_size);
  kdl_digest digest = entry_digest(data, size);
  memcpy(data + offset_digest, digest.bytes, sizeof digest.bytes);
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

bool kdl_cache_field(kdl_string text, const char *word, size_t nth, kdl_string *out_value) {
  size_t length = strlen(word);
  const char *end = text.data + text.length;
  for (const char *line = text.data; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    stop = stop ? stop : end;
    bool fits =
        (size_t)(stop - line) > length && memcmp(line, word, length) == 0 && line[length] == ' ';
    if (fits && nth-- == 0) {
      *out_value = (kdl_string){line + length + 1, (size_t)(stop - line) - length - 1};
      return true;
    }
    line = stop < end ? stop + 1 : end;
  }
  return false;
}
