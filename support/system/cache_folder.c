/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/cache_folder.h"

#include "support/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

int kdl_cache_folder_open(const char *path, kdl_cache_sharing sharing) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    (void)kdl_fail(errno == ENOENT ? KDL_NO_MATCH : KDL_IO, "%s: %s", path, strerror(errno));
    return -1;
  }
  if (check_owner(folder, path, sharing) != KDL_OK) {
    close(folder);
    return -1;
  }
  return folder;
}

/* Creates missing folders with mode 0700, as the XDG base directory specification asks. */
static bool make_folders(const char *path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof part)
    return false;
  for (size_t end = 1; end <= length; ++end) {
    if (path[end] != '/' && path[end] != '\0')
      continue;
    memcpy(part, path, end);
    part[end] = '\0';
    if (mkdir(part, 0700) != 0 && errno != EEXIST)
      return false;
  }
  return true;
}

int kdl_cache_folder_make(const char *path, kdl_cache_sharing sharing) {
  int folder = kdl_cache_folder_open(path, sharing);
  if (folder >= 0 || kdl_error_status() != KDL_NO_MATCH)
    return folder;
  if (!make_folders(path)) {
    (void)kdl_fail(kdl_status_from_errno(errno), "%s: cannot make the folder: %s", path,
                   strerror(errno));
    return -1;
  }
  return kdl_cache_folder_open(path, sharing);
}
