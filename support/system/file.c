/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/file.h"

#include "support/base/error.h"
#include "support/system/path_resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

static kdl_status fail_step(const char *path, const char *step) {
  return kdl_fail(kdl_status_from_errno(errno), "%s: cannot %s: %s", path, step, strerror(errno));
}

/* ------------------------------------------------------------------------------------------ */
/* Links                                                                                        */

static kdl_status copy_resolved_path(kdl_status status, kdl_resolved_path *resolved,
                                     char out_end[PATH_MAX]) {
  if (status == KDL_OK) {
    memcpy(out_end, resolved->end, PATH_MAX);
    kdl_resolved_path_close(resolved);
  }
  return status;
}

kdl_status kdl_file_resolve(const char *path, char out_end[PATH_MAX]) {
  kdl_resolved_path resolved;
  return copy_resolved_path(kdl_path_resolve(path, &resolved), &resolved, out_end);
}

kdl_status kdl_folder_resolve(const char *path, const char *step, char out_end[PATH_MAX]) {
  char name[PATH_MAX];
  kdl_resolved_path resolved;
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    --length;
  if (length >= sizeof name) {
    errno = ENAMETOOLONG;
    return fail_step(path, step);
  }
  *(char *)mempcpy(name, path, length) = '\0';
  return copy_resolved_path(kdl_path_resolve_for(name, path, step, &resolved), &resolved, out_end);
}

static bool path_exists(const kdl_resolved_path *resolved) {
  struct stat info;
  return fstatat(resolved->folder, resolved->name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

kdl_status kdl_file_open(const char *path, int flags, int *out_fd) {
  enum { mode = 0666 };
  kdl_resolved_path resolved;
  kdl_status status = kdl_path_resolve(path, &resolved);
  if (status != KDL_OK)
    return status;
  bool is_named = !resolved.has_links || path_exists(&resolved);
  int fd = is_named ? openat(resolved.folder, resolved.name, flags | O_CLOEXEC | O_NOFOLLOW, mode)
                    : open(path, flags | O_CLOEXEC, mode);
  if (fd < 0)
    status = fail_step(path, "open");
  else
    *out_fd = fd;
  kdl_resolved_path_close(&resolved);
  return status;
}

/* Fails for a dangling link: creating its target would surprise the user. */
static kdl_status resolve_target(const char *path, kdl_resolved_path *out_resolved) {
  kdl_status status = kdl_path_resolve(path, out_resolved);
  if (status == KDL_OK && out_resolved->has_links && !path_exists(out_resolved)) {
    status = fail_step(path, "write there");
    kdl_resolved_path_close(out_resolved);
  }
  return status;
}

kdl_status kdl_file_target(const char *path, char **out_target) {
  kdl_resolved_path resolved;
  KDL_TRY(resolve_target(path, &resolved));
  kdl_resolved_path_close(&resolved);
  char *target = strdup(resolved.end);
  if (!target)
    return fail_step(path, "write there");
  *out_target = target;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Inputs                                                                                       */

/* Whether a pipe has data or a writer; peeks, takes no data. */
static bool has_writer(int fd, const int copy[2]) {
  ssize_t there = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK);
  return there > 0 || (there < 0 && errno == EAGAIN);
}

/* The writer may open the pipe a little later than the reader. */
static kdl_status wait_for_writer(int fd, const char *shown) {
  enum { patience = 100 };
  const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
  int copy[2];
  if (pipe2(copy, O_CLOEXEC) != 0)
    return fail_step(shown, "open");
  bool path_exists = has_writer(fd, copy);
  for (int i = 0; i < patience && !path_exists; ++i) {
    nanosleep(&pause, NULL);
    path_exists = has_writer(fd, copy);
  }
  close(copy[0]);
  close(copy[1]);
  return path_exists
             ? KDL_OK
             : kdl_fail(KDL_BAD_FILE,
                        "%s: found a pipe that nothing writes to, expected a file, or a pipe "
                        "that something does",
                        shown);
}

kdl_status kdl_input_check(int fd, const char *shown) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return fail_step(shown, "look at it");
  bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  if (S_ISCHR(info.st_mode) && !is_null && !isatty(fd))
    return kdl_fail(KDL_BAD_FILE, "%s: found a device, which need not end, expected a file or pipe",
                    shown);
  return KDL_OK;
}

kdl_status kdl_input_open(const char *path, int *out_fd) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return fail_step(path, "open");
  kdl_status status = kdl_input_check(fd, path);
  bool is_file = fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (status == KDL_OK && S_ISFIFO(info.st_mode))
    status = wait_for_writer(fd, path);
  if (status == KDL_OK && !is_file && fcntl(fd, F_SETFL, O_RDONLY) != 0) /* reads block again */
    status = fail_step(path, "open");
  if (status == KDL_OK)
    *out_fd = fd;
  else
    close(fd);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Descriptors                                                                                  */

bool kdl_fd_write(int fd, const void *data, size_t size) {
  const char *at = data;
  if (kdl_fd_is_over_limit(fd, SEEK_CUR, size)) {
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

kdl_status kdl_fd_write_failed(const char *path) {
  if (errno == EFAULT)
    return kdl_fail(KDL_IO, "a file was truncated or became unreadable while being read");
  return fail_step(path, "write");
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

/* ------------------------------------------------------------------------------------------ */
/* Temporary files                                                                              */

/* A name that no file has, malloc'ed; NULL with errno. A name of maximal length is shortened. */
static char *unique_temp_name(const char *name) {
  enum { suffix = 1 + 16 + 4 };
  size_t length = strlen(name);
  uint64_t salt;
  char *made;
  if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
    return NULL;
  if (length > NAME_MAX - suffix)
    length = NAME_MAX - suffix;
  if (asprintf(&made, "%.*s.%016" PRIx64 ".tmp", (int)length, name, salt) < 0)
    return NULL;
  return made;
}

/* Calls `make` with unique names until it succeeds; returns its result and the name. -1 with
 * errno. */
static int create_unique(int folder, const char *name,
                         int (*make)(int folder, const char *name, int fd), int fd,
                         char **out_name) {
  int made = -1;
  for (int tries = 0; made < 0 && tries < 100; ++tries) {
    char *unique = unique_temp_name(name);
    if (!unique)
      return -1;
    made = make(folder, unique, fd);
    if (made >= 0) {
      *out_name = unique;
      return made;
    }
    int reason = errno;
    free(unique);
    errno = reason;
    if (reason != EEXIST)
      break;
  }
  return made;
}

static int create_exclusive(int folder, const char *name, int unused) {
  (void)unused;
  return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* By its entry in /proc: linkat with AT_EMPTY_PATH needs a capability. */
static int link_open_file(int folder, const char *name, int fd) {
  char entry[32];
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, entry, folder, name, AT_SYMLINK_FOLLOW);
}

/* A file without a name, of which nothing remains if the process dies. -1 where the file system has
 * none, or where it could not be linked later. */
static int create_unnamed(int folder) {
  char entry[32];
  int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
  if (fd >= 0 && access(entry, F_OK) != 0) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* Set-id bits are dropped: they were meant for the old contents. An ordinary user cannot change the
 * owner, but perhaps the group. */
static void copy_ownership(int fd, const struct stat *old) {
  if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
    errno = 0;
  fchmod(fd, old->st_mode & 0777);
}

/* The temporary file takes over the folder. */
static kdl_status create_temp_file(kdl_resolved_path *resolved, const char *shown,
                                   kdl_temp_file *out_temp) {
  kdl_temp_file temp = {
      .fd = create_unnamed(resolved->folder), .folder = resolved->folder, .shown = shown};
  if (temp.fd < 0)
    temp.fd = create_unique(temp.folder, resolved->name, create_exclusive, -1, &temp.name);
  if (temp.fd < 0) {
    kdl_status status = fail_step(shown, "create a file there");
    kdl_resolved_path_close(resolved);
    return status;
  }
  *out_temp = temp;
  return KDL_OK;
}

kdl_status kdl_temp_file_create(const char *target, const char *shown, kdl_temp_file *out_temp) {
  kdl_resolved_path resolved;
  kdl_status status = kdl_path_resolve(target, &resolved);
  return status == KDL_OK ? create_temp_file(&resolved, shown, out_temp) : status;
}

static void close_temp_file(kdl_temp_file *temp, bool removes) {
  if (removes && temp->name)
    unlinkat(temp->folder, temp->name, 0);
  free(temp->name);
  close(temp->folder);
}

void kdl_temp_file_discard(kdl_temp_file *temp) {
  close(temp->fd);
  close_temp_file(temp, true);
}

/* Makes the names in a folder durable; true also where its file system cannot. False with errno. */
static bool flush_folder(int folder) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return true;
  bool is_lost = fsync(fd) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);
  close(fd);
  return !is_lost;
}

kdl_status kdl_file_flush_name(const char *path) {
  kdl_resolved_path resolved;
  kdl_status status = kdl_path_resolve(path, &resolved);
  if (status != KDL_OK)
    return status;
  if (!flush_folder(resolved.folder))
    status = fail_step(path, "flush its folder, in which it is now");
  kdl_resolved_path_close(&resolved);
  return status;
}

kdl_status kdl_temp_file_keep(kdl_temp_file *temp, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  kdl_status status = fsync(temp->fd) == 0 ? KDL_OK : fail_step(temp->shown, "flush");
  if (status == KDL_OK && !temp->name &&
      create_unique(temp->folder, name, link_open_file, temp->fd, &temp->name) != 0)
    status = fail_step(temp->shown, "create a file there");
  if (close(temp->fd) != 0 && status == KDL_OK)
    status = fail_step(temp->shown, "close");
  if (status == KDL_OK && renameat(temp->folder, temp->name, temp->folder, name) != 0)
    status = fail_step(temp->shown, "rename into place");
  bool removes = status != KDL_OK;
  if (status == KDL_OK && !flush_folder(temp->folder))
    status = fail_step(temp->shown, "flush its folder, in which it is now");
  close_temp_file(temp, removes);
  return status;
}

kdl_status kdl_file_save_by(const char *path, kdl_status (*write)(void *user, int fd), void *user) {
  kdl_resolved_path resolved;
  KDL_TRY(resolve_target(path, &resolved));
  struct stat old;
  bool replaces = fstatat(resolved.folder, resolved.name, &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (replaces && !S_ISREG(old.st_mode)) {
    kdl_resolved_path_close(&resolved);
    return kdl_fail(KDL_IO,
                    "%s: cannot write: found a directory, device, pipe or socket, expected a "
                    "regular file",
                    path);
  }
  kdl_temp_file temp;
  KDL_TRY(create_temp_file(&resolved, path, &temp));
  if (replaces &&
      kdl_path_owner_is_trusted(temp.folder, &old)) /* not where another user planted it */
    copy_ownership(temp.fd, &old);
  kdl_status status = write(user, temp.fd);
  if (status == KDL_OK)
    return kdl_temp_file_keep(&temp, resolved.name);
  kdl_temp_file_discard(&temp);
  return status;
}

typedef struct {
  const char *path;
  const void *data;
  size_t size;
} file_bytes;

static kdl_status write_file_bytes(void *user, int fd) {
  const file_bytes *file = user;
  return kdl_fd_write(fd, file->data, file->size) ? KDL_OK : kdl_fd_write_failed(file->path);
}

kdl_status kdl_file_save(const char *path, const void *data, size_t size) {
  return kdl_file_save_by(path, write_file_bytes, &(file_bytes){path, data, size});
}

/* ------------------------------------------------------------------------------------------ */
/* Files in memory                                                                              */

/* Since Linux 6.3 a system can refuse memory files that do not declare whether they are code. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int kdl_memory_file_create(const char *name, kdl_memory_file_use use, const void *data,
                           size_t size) {
  static const unsigned flags[] = {
      [KDL_MEMORY_FILE_DATA] = MFD_CLOEXEC | MFD_NOEXEC_SEAL,
      [KDL_MEMORY_FILE_CODE] = MFD_CLOEXEC | MFD_EXEC,
      [KDL_MEMORY_FILE_INHERITED] = 0,
  };
  int fd = memfd_create(name, flags[use]);
  if (fd < 0 && errno == EINVAL) /* an older kernel */
    fd = memfd_create(name, flags[use] & MFD_CLOEXEC);
  if (fd < 0 || kdl_fd_write(fd, data, size))
    return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

kdl_status kdl_memory_file_read(int fd, const char *writer, uint64_t most, void **out_data,
                                size_t *out_size) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return kdl_fail_code(kdl_status_from_errno(errno), errno, "cannot read what %s wrote: %s",
                         writer, strerror(errno));
  if ((uint64_t)info.st_size > most)
    return kdl_fail_code(KDL_NO_MEMORY, EFBIG, "%s wrote more than %" PRIu64 " bytes", writer,
                         most);
  size_t size = (size_t)info.st_size;
  size_t have = 0;
  char *data = malloc(size + 1);
  if (!data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the %zu bytes that %s wrote", size, writer);
  if (lseek(fd, 0, SEEK_SET) != 0 || !kdl_fd_read(fd, data, size, &have) || have < size) {
    free(data);
    return kdl_fail(KDL_IO, "cannot read the %zu bytes that %s wrote", size, writer);
  }
  data[size] = '\0';
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}
