/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A cache for a test, and entries to put into it. */
#ifndef KDL_TESTS_UNIT_CACHE_SUPPORT_H
#define KDL_TESTS_UNIT_CACHE_SUPPORT_H

#include "support.h"

#include "ext/jit/cache/inspect.h"
#include "ext/jit/cache/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void remove_folder(const char *path) {
  DIR *stream = opendir(path);
  for (struct dirent *item; stream && (item = readdir(stream));) {
    char child[PATH_MAX];
    struct stat info;
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
      continue;
    snprintf(child, sizeof child, "%.2000s/%.200s", path, item->d_name);
    if (lstat(child, &info) == 0 && S_ISDIR(info.st_mode))
      remove_folder(child);
    else
      unlink(child);
  }
  if (stream)
    closedir(stream);
  rmdir(path);
}

/* A folder that is not there yet, below one that is. */
static inline kdl_cache_settings new_cache(void) {
  char root[] = "/tmp/kdl-test-XXXXXX";
  kdl_cache_settings settings = {.mode = KDL_CACHE_ON, .limit = KDL_CACHE_DEFAULT_LIMIT};
  assert_non_null(mkdtemp(root));
  snprintf(settings.dir, sizeof settings.dir, "%s/a/b", root);
  return settings;
}

static inline void end_cache(const kdl_cache_settings *settings) {
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%.*s", (int)(strlen(settings->dir) - 4), settings->dir);
  remove_folder(root);
}

/* A link key with a number, and an image of `size` bytes that contains it. */
typedef struct made_entry {
  kdl_cache_entry entry;
  char link_key[64];
  uint8_t *image;
} made_entry;

static inline made_entry *make_entry(unsigned number, size_t size) {
  made_entry *made = malloc(sizeof *made);
  snprintf(made->link_key, sizeof made->link_key, "device host:x86-64\nnumber %u\n", number);
  made->image = malloc(size + 1);
  for (size_t i = 0; i < size; ++i)
    made->image[i] = (uint8_t)(number + i * 7);
  made->entry = (kdl_cache_entry){
      .link_key = {made->link_key, strlen(made->link_key)},
      .notes = {"source t: image 0\n", 18},
      .kind = KDL_IMAGE_OBJECT,
      .image = made->image,
      .image_size = size,
  };
  return made;
}

static inline void free_entry(made_entry *made) {
  free(made->image);
  free(made);
}

static inline kdl_status store_number(const kdl_cache_settings *settings, unsigned number,
                                      size_t size) {
  made_entry *made = make_entry(number, size);
  kdl_status status = kdl_cache_store(settings, &made->entry);
  free_entry(made);
  return status;
}

/* KDL_OK only where what was found is what was stored. */
static inline kdl_status find_number(const kdl_cache_settings *settings, unsigned number,
                                     size_t size) {
  made_entry *made = make_entry(number, size);
  kdl_cache_hit found;
  kdl_status status = kdl_cache_find(settings, made->entry.link_key, &found);
  if (status == KDL_OK) {
    assert_int_equal(found.entry.kind, KDL_IMAGE_OBJECT);
    assert_int_equal(found.entry.image_size, size);
    assert_memory_equal(found.entry.image, made->image, size);
    assert_int_equal(((const char *)found.entry.image)[size], '\0');
    kdl_cache_hit_free(&found);
  }
  free_entry(made);
  return status;
}

/* The file of the entry with that number. */
static inline void path_of(const kdl_cache_settings *settings, unsigned number, char path[4200]) {
  made_entry *made = make_entry(number, 0);
  char name[KDL_CACHE_NAME];
  kdl_cache_name(made->entry.link_key, ".kdl", name);
  snprintf(path, 4200, "%s/%s", settings->dir, name);
  free_entry(made);
}

static inline size_t files_in(const char *path) {
  DIR *stream = opendir(path);
  size_t count = 0;
  for (struct dirent *item; stream && (item = readdir(stream));)
    count += item->d_name[0] != '.';
  if (stream)
    closedir(stream);
  return count;
}

#endif
