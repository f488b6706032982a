/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/cache_settings.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/path_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* KDL_CACHE: words and folders, separated by colons                                            */

static kdl_status fail_cache_item(kdl_string item) {
  return kdl_fail(KDL_BAD_CALL,
                  "KDL_CACHE: found \"%.*s\", expected on, ro, off, /FOLDER,shared or /FOLDER,ro",
                  (int)item.length, item.data);
}

static kdl_status add_tier(kdl_string item, kdl_cache_tiers *tiers) {
  static const kdl_string shared = KDL_TEXT_ROW(",shared"), lower = KDL_TEXT_ROW(",ro");
  bool is_shared = kdl_text_has_suffix(item, shared);
  if (item.data[0] != '/' || (!is_shared && !kdl_text_has_suffix(item, lower)))
    return fail_cache_item(item);
  size_t length = item.length - (is_shared ? shared.length : lower.length);
  if (tiers->count == KDL_CACHE_MAX_TIERS || length >= PATH_MAX)
    return kdl_fail(KDL_BAD_CALL, "KDL_CACHE: found \"%.200s\" as folder %zu, expected at most %d",
                    item.data, tiers->count + 1, KDL_CACHE_MAX_TIERS);
  kdl_cache_settings *tier = &tiers->items[tiers->count++];
  tier->mode = is_shared ? KDL_CACHE_ON : KDL_CACHE_READ_ONLY;
  tier->sharing = is_shared ? KDL_CACHE_SHARED : KDL_CACHE_LOWER;
  memcpy(tier->dir, item.data, length);
  tier->dir[length] = '\0';
  return KDL_OK;
}

static kdl_status parse_cache_item(kdl_string item, kdl_cache_mode *out_mode,
                                   kdl_cache_tiers *tiers) {
  static const struct {
    const char *name;
    kdl_cache_mode mode;
  } modes[] = {{"on", KDL_CACHE_ON}, {"ro", KDL_CACHE_READ_ONLY}, {"off", KDL_CACHE_OFF}};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    if (kdl_text_is(item, modes[i].name)) {
      *out_mode = modes[i].mode;
      return KDL_OK;
    }
  }
  return item.length ? add_tier(item, tiers) : fail_cache_item(item);
}

static kdl_status parse_cache_variable(kdl_cache_mode *out_mode, kdl_cache_tiers *out_tiers) {
  const char *list = kdl_environment(KDL_VARIABLE_CACHE);
  kdl_status status = KDL_OK;
  *out_mode = KDL_CACHE_ON;
  while (status == KDL_OK && list) {
    kdl_string item = {list, strcspn(list, ":")};
    status = parse_cache_item(item, out_mode, out_tiers);
    list = list[item.length] ? list + item.length + 1 : NULL;
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */

/* A relative path would mean another folder after chdir. */
static bool join_absolute_path(const char *root, const char *below, char *out_dir) {
  return root && root[0] == '/' && snprintf(out_dir, PATH_MAX, "%s%s", root, below) < PATH_MAX;
}

static kdl_status find_cache_dir(char *out_dir) {
  const char *own = kdl_environment(KDL_VARIABLE_CACHE_DIR);
  if (own && !join_absolute_path(own, "", out_dir))
    return kdl_fail(KDL_BAD_CALL, "KDL_CACHE_DIR: found \"%.200s\", expected an absolute path",
                    own);
  if (own || join_absolute_path(kdl_environment(KDL_VARIABLE_XDG_CACHE_HOME), "/kdl", out_dir) ||
      join_absolute_path(kdl_environment(KDL_VARIABLE_HOME), "/.cache/kdl", out_dir))
    return KDL_OK;
  return kdl_fail(KDL_NO_MATCH,
                  "found none of KDL_CACHE_DIR, XDG_CACHE_HOME and HOME, expected one to say where "
                  "the cache lies");
}

static kdl_status read_cache_limit(uint64_t *out_limit) {
  const char *size = kdl_environment(KDL_VARIABLE_CACHE_SIZE);
  *out_limit = KDL_CACHE_DEFAULT_LIMIT;
  kdl_status status = size ? kdl_size_parse(size, out_limit) : KDL_OK;
  if (status != KDL_OK)
    kdl_error_prefix("KDL_CACHE_SIZE");
  return status;
}

kdl_status kdl_cache_settings_read(kdl_cache_settings *out_settings) {
  kdl_cache_settings made = {.mode = KDL_CACHE_OFF, .limit = KDL_CACHE_DEFAULT_LIMIT};
  if (!kdl_is_privileged()) {
    kdl_cache_tiers tiers = {.count = 0};
    KDL_TRY(parse_cache_variable(&made.mode, &tiers));
    KDL_TRY(read_cache_limit(&made.limit));
    KDL_TRY(find_cache_dir(made.dir));
  }
  *out_settings = made;
  return KDL_OK;
}

kdl_status kdl_cache_tiers_read(kdl_cache_tiers *out_tiers) {
  kdl_cache_mode mode;
  uint64_t limit = 0;
  out_tiers->count = 0;
  if (kdl_is_privileged())
    return KDL_OK;
  KDL_TRY(parse_cache_variable(&mode, out_tiers));
  KDL_TRY(read_cache_limit(&limit));
  for (size_t i = 0; i < out_tiers->count; ++i)
    out_tiers->items[i].limit = limit;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

bool kdl_cache_owner_is_trusted(kdl_cache_sharing sharing, uid_t owner) {
  return owner == geteuid() || (sharing == KDL_CACHE_LOWER && owner == 0);
}

static kdl_status check_owner(int folder, const char *path, kdl_cache_sharing sharing) {
  struct stat info;
  if (fstat(folder, &info) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: %s", path, strerror(errno));
  if (!kdl_cache_owner_is_trusted(sharing, info.st_uid))
    return kdl_fail(KDL_IO, "%s: found a folder of user %u, expected one of user %u", path,
                    (unsigned)info.st_uid, (unsigned)geteuid());
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return kdl_fail(KDL_IO,
                    "%s: found mode %04o, expected a folder that no other user may write to; fix: "
                    "chmod 700",
                    path, (unsigned)info.st_mode & 07777);
  return KDL_OK;
}

static void fail_open(const char *path) {
  (void)kdl_fail(errno == ENOENT ? KDL_NO_MATCH : KDL_IO, "%s: %s", path, strerror(errno));
}

/* Opens a folder in another, and checks it: -1 with errno and the reason recorded. */
static int open_in(int above, const char *name, const char *path, kdl_cache_sharing sharing) {
  int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) {
    fail_open(path);
    return -1;
  }
  if (check_owner(folder, path, sharing) == KDL_OK)
    return folder;
  close(folder);
  errno = EPERM;
  return -1;
}

int kdl_cache_folder_open(const char *path, kdl_cache_sharing sharing) {
  kdl_resolved_path resolved;
  errno = EPERM; /* of a link that is refused */
  if (kdl_path_resolve_for(path, path, "open the folder", &resolved) != KDL_OK) {
    if (errno != EPERM)
      fail_open(path);
    return -1;
  }
  int folder = open_in(resolved.folder, resolved.name, path, sharing);
  kdl_resolved_path_close(&resolved);
  return folder;
}

static kdl_status fail_make(const char *path) {
  return kdl_fail(kdl_status_from_errno(errno), "%s: cannot make the folder: %s", path,
                  strerror(errno));
}

/* Mode 0700, as the XDG base directory specification asks. */
static bool make_in(int above, const char *name) {
  return mkdirat(above, name, 0700) == 0 || errno == EEXIST;
}

/* A link that leads nowhere stays so. */
static kdl_status make_folder(const char *path, const char *shown) {
  kdl_resolved_path resolved;
  KDL_TRY(kdl_path_resolve_for(path, shown, "make the folder", &resolved));
  bool is_there = resolved.has_links || make_in(resolved.folder, resolved.name);
  kdl_status status = is_there ? KDL_OK : fail_make(shown);
  kdl_resolved_path_close(&resolved);
  return status;
}

static kdl_status make_folders(const char *path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof part) {
    errno = ENAMETOOLONG;
    return fail_make(path);
  }
  for (size_t end = 1; end <= length; ++end) {
    if (path[end] != '/' && path[end] != '\0')
      continue;
    memcpy(part, path, end);
    part[end] = '\0';
    KDL_TRY(make_folder(part, path));
  }
  return KDL_OK;
}

int kdl_cache_folder_make(const char *path, kdl_cache_sharing sharing) {
  int folder = kdl_cache_folder_open(path, sharing);
  if (folder >= 0 || kdl_error_status() != KDL_NO_MATCH)
    return folder;
  return make_folders(path) == KDL_OK ? kdl_cache_folder_open(path, sharing) : -1;
}

static int open_subfolder(int above, const char *path, const char *name, bool makes,
                          kdl_cache_sharing sharing) {
  char whole[PATH_MAX + NAME_MAX + 2];
  if (above < 0)
    return -1;
  snprintf(whole, sizeof whole, "%s/%s", path, name);
  int folder = -1;
  if (makes && !make_in(above, name))
    (void)fail_make(whole);
  else
    folder = open_in(above, name, whole, sharing);
  close(above);
  return folder;
}

int kdl_cache_subfolder_open(const char *path, const char *name, kdl_cache_sharing sharing) {
  return open_subfolder(kdl_cache_folder_open(path, sharing), path, name, false, sharing);
}

int kdl_cache_subfolder_make(const char *path, const char *name, kdl_cache_sharing sharing) {
  return open_subfolder(kdl_cache_folder_make(path, sharing), path, name, true, sharing);
}
