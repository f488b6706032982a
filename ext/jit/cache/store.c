/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/store.h"

#include "support/base/error.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  touch_after = 60,               /* seconds: the resolution of "recently used" */
  stale_temporary_after = 60 * 60 /* seconds until a killed process's temporary file is removed */
};

void kdl_cache_name(kdl_string link_key, const char *suffix, char name[KDL_CACHE_NAME]) {
  char text[KDL_DIGEST_TEXT];
  kdl_digest digest = kdl_digest_of(link_key.data, link_key.length);
  kdl_digest_print(&digest, text);
  snprintf(name, KDL_CACHE_NAME, "%s%s", text, suffix);
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* A file of another user is never used: its writer could also write a valid digest. */
static kdl_status check_entry_file(const struct stat *info, kdl_cache_sharing sharing) {
  bool is_lower = sharing == KDL_CACHE_LOWER;
  mode_t refused = is_lower ? S_IWGRP | S_IWOTH : S_IRWXG | S_IRWXO;
  if (!S_ISREG(info->st_mode))
    return kdl_fail(KDL_BAD_FILE, "found no regular file");
  if (!kdl_cache_owner_is_trusted(sharing, info->st_uid))
    return kdl_fail(KDL_IO, "found a file of user %u, expected one of user %u%s",
                    (unsigned)info->st_uid, (unsigned)geteuid(), is_lower ? " or root" : "");
  if (info->st_mode & refused)
    return kdl_fail(KDL_IO, "found mode %04o, expected %s", (unsigned)info->st_mode & 07777,
                    is_lower ? "one by which no other user may write to it" : "0600");
  if ((uint64_t)info->st_size > KDL_CACHE_HEADER + 2 * KDL_CACHE_LIMIT_TEXT + KDL_CACHE_LIMIT_IMAGE)
    return kdl_fail(KDL_BAD_FILE, "found %jd bytes, which is too large for an entry",
                    (intmax_t)info->st_size);
  return KDL_OK;
}

/* Copies into memory, so that the checked bytes are the bytes in use. */
static kdl_status read_entry_bytes(int fd, size_t size, void **out_data) {
  char *data = malloc(size + 1);
  size_t got = 0;
  if (!data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu bytes", size);
  kdl_status status = KDL_OK;
  if (!kdl_fd_read(fd, data, size, &got))
    status = kdl_fail(kdl_status_from_errno(errno), "cannot read: %s", strerror(errno));
  else if (got != size)
    status = kdl_fail(KDL_BAD_FILE, "found %zu bytes, expected %zu", got, size);
  if (status != KDL_OK) {
    free(data);
    return status;
  }
  data[size] = '\0';
  *out_data = data;
  return KDL_OK;
}

static kdl_status read_cache_entry(int fd, const struct stat *info, kdl_cache_sharing sharing,
                                   kdl_cache_hit *out_found) {
  kdl_cache_hit found = {.data = NULL};
  kdl_status status = check_entry_file(info, sharing);
  if (status == KDL_OK)
    status = read_entry_bytes(fd, (size_t)info->st_size, &found.data);
  if (status == KDL_OK)
    status = kdl_cache_entry_parse(found.data, (size_t)info->st_size, &found.entry);
  if (status == KDL_OK)
    *out_found = found;
  else
    free(found.data);
  return status;
}

kdl_status kdl_cache_read(int folder, kdl_cache_sharing sharing, const char *name,
                          kdl_cache_hit *out_found) {
  struct stat info;
  kdl_status status;
  /* O_NONBLOCK: a pipe of that name must not block. */
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return kdl_fail(errno == ENOENT ? KDL_NO_MATCH : KDL_IO, "cannot open: %s", strerror(errno));
  if (fstat(fd, &info) != 0)
    status = kdl_fail(kdl_status_from_errno(errno), "cannot stat: %s", strerror(errno));
  else
    status = read_cache_entry(fd, &info, sharing, out_found);
  close(fd);
  return status;
}

/* Seconds since the file was written; 0 where unknown. */
static time_t age_of(int folder, const char *name) {
  struct stat info;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  bool exists = fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  return exists && now.tv_sec > info.st_mtim.tv_sec ? now.tv_sec - info.st_mtim.tv_sec : 0;
}

/* In a shared folder the file may be intact on another machine, its bytes not visible here yet. */
static bool may_remove_damaged(const kdl_cache_settings *settings, int folder, const char *name) {
  return settings->sharing == KDL_CACHE_PRIVATE || age_of(folder, name) > stale_temporary_after;
}

static void touch_entry(int folder, const char *name) {
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
  if (age_of(folder, name) > touch_after)
    utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW);
}

kdl_status kdl_cache_find(const kdl_cache_settings *settings, kdl_string link_key,
                          kdl_cache_hit *out_found) {
  char name[KDL_CACHE_NAME];
  int folder = kdl_cache_folder_open(settings->dir, settings->sharing);
  if (folder < 0)
    return kdl_error_status();
  kdl_cache_name(link_key, ".kdl", name);
  kdl_status status = kdl_cache_read(folder, settings->sharing, name, out_found);
  if (status == KDL_OK) {
    kdl_string stored = out_found->entry.link_key;
    if (stored.length != link_key.length ||
        memcmp(stored.data, link_key.data, stored.length) != 0) {
      kdl_cache_hit_free(out_found);
      status = kdl_fail(KDL_BAD_FILE, "found the entry of another link key");
    }
  }
  bool may_write = settings->mode == KDL_CACHE_ON;
  if (status == KDL_OK && may_write)
    touch_entry(folder, name);
  if (status == KDL_BAD_FILE && may_write && may_remove_damaged(settings, folder, name))
    unlinkat(folder, name, 0);
  if (status != KDL_OK && status != KDL_NO_MATCH)
    kdl_error_prefix("%s/%s", settings->dir, name);
  close(folder);
  return status;
}

void kdl_cache_hit_free(kdl_cache_hit *found) {
  free(found->data);
  found->data = NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static int create_temporary(int folder, const char *key, char name[KDL_CACHE_NAME]) {
  uint64_t salt;
  if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
    return -1;
  snprintf(name, KDL_CACHE_NAME, "%.64s.%016" PRIx64 ".tmp", key, salt);
  return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A network may lose the reply to a rename that succeeded; the repeated request then fails. */
static bool was_renamed(const kdl_cache_settings *settings, int folder, const char *name) {
  kdl_cache_hit found = {.data = NULL};
  if (settings->sharing != KDL_CACHE_SHARED ||
      kdl_cache_read(folder, settings->sharing, name, &found) != KDL_OK)
    return false;
  kdl_cache_hit_free(&found);
  return true;
}

/* Flushed where other machines must see it. Elsewhere the digest detects an entry that a power
 * failure damaged. */
static kdl_status write_entry(const kdl_cache_settings *settings, int folder, const char *name,
                              const void *data, size_t size) {
  char temporary[KDL_CACHE_NAME];
  int fd = create_temporary(folder, name, temporary);
  if (fd < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot create a file: %s", strerror(errno));
  const char *step = fchmod(fd, 0600) != 0 || !kdl_fd_write(fd, data, size) ? "write" : NULL;
  int reason = errno;
  if (!step && settings->sharing == KDL_CACHE_SHARED && fsync(fd) != 0) {
    step = "flush";
    reason = errno;
  }
  if (close(fd) != 0 && !step) {
    step = "close";
    reason = errno;
  }
  if (!step && renameat(folder, temporary, folder, name) != 0 &&
      !was_renamed(settings, folder, name)) {
    step = "rename into place";
    reason = errno;
  }
  if (!step)
    return KDL_OK;
  unlinkat(folder, temporary, 0);
  return kdl_fail(KDL_IO, "cannot %s: %s", step, strerror(reason));
}

static bool is_stale_temporary(const kdl_cache_file *file, const struct timespec *now) {
  return file->kind != KDL_CACHE_FILE_ENTRY &&
         now->tv_sec - file->used.tv_sec > stale_temporary_after;
}

/* Removes the least recently used until the others fit. If several processes do this at once, a few
 * more go than necessary. */
static void evict_entries(int folder, uint64_t limit, const char *newest) {
  kdl_cache_file *files;
  size_t count;
  struct timespec now;
  uint64_t total = 0;
  if (kdl_cache_files_list(folder, &files, &count) != KDL_OK)
    return;
  clock_gettime(CLOCK_REALTIME, &now);
  for (size_t i = 0; i < count; ++i)
    total += files[i].size;
  for (size_t i = 0; i < count; ++i) {
    bool goes = is_stale_temporary(&files[i], &now) ||
                (total > limit && files[i].kind == KDL_CACHE_FILE_ENTRY &&
                 strcmp(files[i].name, newest) != 0);
    if (!goes || unlinkat(folder, files[i].name, 0) != 0)
      continue;
    total -= files[i].size;
    kdl_debug(KDL_DEBUG_LINK, "cache: let go of %s, %" PRIu64 " bytes", files[i].name,
              files[i].size);
  }
  free(files);
}

static kdl_status store_bytes(const kdl_cache_settings *settings, kdl_string link_key,
                              const void *data, size_t size) {
  char name[KDL_CACHE_NAME];
  if (size > settings->limit)
    return kdl_fail(KDL_NO_MEMORY,
                    "an entry of %zu bytes is more than KDL_CACHE_SIZE, which is %" PRIu64, size,
                    settings->limit);
  int folder = kdl_cache_folder_make(settings->dir, settings->sharing);
  if (folder < 0)
    return kdl_error_status();
  kdl_cache_name(link_key, ".kdl", name);
  kdl_status status = write_entry(settings, folder, name, data, size);
  if (status == KDL_OK)
    evict_entries(folder, settings->limit, name);
  else
    kdl_error_prefix("%s", settings->dir);
  close(folder);
  return status;
}

kdl_status kdl_cache_store(const kdl_cache_settings *settings, const kdl_cache_entry *entry) {
  void *data;
  size_t size;
  kdl_status status = kdl_cache_entry_serialize(entry, &data, &size);
  if (status == KDL_OK) {
    status = store_bytes(settings, entry->link_key, data, size);
    free(data);
  }
  return status;
}

void kdl_cache_remove(const kdl_cache_settings *settings, kdl_string link_key) {
  char name[KDL_CACHE_NAME];
  int folder = kdl_cache_folder_open(settings->dir, settings->sharing);
  if (folder < 0)
    return;
  kdl_cache_name(link_key, ".kdl", name);
  unlinkat(folder, name, 0);
  close(folder);
}
