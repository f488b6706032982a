/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/cache_folder.h"

#include "support/base/error.h"
#include "support/system/path_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
