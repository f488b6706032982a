/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static kdl_status failed(const char *path, const char *step) {
  return kdl_fail(KDL_IO, "%s: cannot %s: %s", path, step, strerror(errno));
}

char *kdl_file_target(const char *path) {
  char *resolved = realpath(path, NULL);
  if (resolved || errno != ENOENT)
    return resolved;
  struct stat info;
  if (lstat(path, &info) == 0) /* a link to nowhere: writing "through" it would surprise */
    return NULL;
  return strdup(path);
}

/* Whether a write would raise SIGXFSZ, whose default is to kill. */
static bool is_over_limit(int fd, size_t size) {
  struct rlimit limit;
  off_t at = lseek(fd, 0, SEEK_CUR);
  return at >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         (uint64_t)at + size > limit.rlim_cur;
}

bool kdl_fd_write(int fd, const void *data, size_t size) {
  const char *at = data;
  if (is_over_limit(fd, size)) {
    errno = EFBIG;
    return false;
  }
  while (size) {
    ssize_t put = write(fd, at, size < SSIZE_MAX ? size : SSIZE_MAX);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return false;
    at += put;
    size -= (size_t)put;
  }
  return true;
}

bool kdl_fd_read(int fd, void *data, size_t size, size_t *out_size) {
  size_t used = 0;
  while (used < size) {
    ssize_t got = read(fd, (char *)data + used, size - used < SSIZE_MAX ? size - used : SSIZE_MAX);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return false;
    if (got == 0)
      break;
    used += (size_t)got;
  }
  *out_size = used;
  return true;
}

/* A new file under a name nobody else has, made as open() would have made `target`. */
static int create_beside(const char *target, char **out_path) {
  size_t room = strlen(target) + 32;
  char *path = malloc(room);
  if (!path)
    return -1;
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < 100; ++tries) {
    uint64_t salt;
    if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
      break;
    snprintf(path, room, "%s.%016" PRIx64 ".tmp", target, salt);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  if (fd < 0) {
    int reason = errno;
    free(path);
    errno = reason;
    return -1;
  }
  *out_path = path;
  return fd;
}

/* Changing the owner clears set-id bits, so the mode comes second. An ordinary user cannot give a
 * file away; the group alone is then worth a try. */
static void copy_ownership(int fd, const struct stat *old) {
  if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
    errno = 0;
  fchmod(fd, old->st_mode & 07777);
}

kdl_status kdl_file_draft_begin(const char *target, const char *shown, kdl_file_draft *out_draft) {
  kdl_file_draft draft = {.shown = shown};
  draft.fd = create_beside(target, &draft.path);
  if (draft.fd < 0)
    return failed(shown, "create a file beside it");
  *out_draft = draft;
  return KDL_OK;
}

void kdl_file_draft_drop(kdl_file_draft *draft) {
  close(draft->fd);
  unlink(draft->path);
  free(draft->path);
}

kdl_status kdl_file_draft_keep(kdl_file_draft *draft, const char *name) {
  kdl_status status = fsync(draft->fd) == 0 ? KDL_OK : failed(draft->shown, "flush");
  if (close(draft->fd) != 0 && status == KDL_OK)
    status = failed(draft->shown, "close");
  if (status == KDL_OK && rename(draft->path, name) != 0)
    status = failed(draft->shown, "rename into place");
  if (status != KDL_OK)
    unlink(draft->path);
  free(draft->path);
  return status;
}

kdl_status kdl_file_save(const char *path, const void *data, size_t size) {
  char *target = kdl_file_target(path);
  if (!target)
    return failed(path, "write there");
  struct stat old;
  bool replaces = stat(target, &old) == 0;
  kdl_file_draft draft;
  kdl_status status;
  if (replaces && !S_ISREG(old.st_mode))
    status = kdl_fail(KDL_IO,
                      "%s: cannot write: found a directory, device, pipe or socket, expected a "
                      "regular file",
                      path);
  else
    status = kdl_file_draft_begin(target, path, &draft);
  if (status == KDL_OK && replaces)
    copy_ownership(draft.fd, &old);
  if (status == KDL_OK && kdl_fd_write(draft.fd, data, size)) {
    status = kdl_file_draft_keep(&draft, target);
  } else if (status == KDL_OK) {
    status = failed(path, "write");
    kdl_file_draft_drop(&draft);
  }
  free(target);
  return status;
}
