/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "system/file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static kdl_status failed(const char *path, const char *step) {
  return kdl_fail(kdl_status_of(errno), "%s: cannot %s: %s", path, step, strerror(errno));
}

/* ------------------------------------------------------------------------------------------ */
/* Links                                                                                        */

enum { limit_links = 40 };

/* The part of a path before its last '/', or "."; false where it is too long. */
static bool folder_of(const char *path, char out_folder[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  int length = slash ? (int)(slash - path) + 1 : 1;
  return snprintf(out_folder, PATH_MAX, "%.*s", length, slash ? path : ".") < PATH_MAX;
}

/* What any user may have put there goes only as far as Linux lets it with fs.protected_symlinks,
 * which may be off, and does not know that a file is going to be renamed to the end of a link. */
static bool is_own(const char *path, const struct stat *found) {
  char folder[PATH_MAX];
  struct stat info;
  if (!folder_of(path, folder) || stat(folder, &info) != 0)
    return false;
  return !(info.st_mode & S_IWOTH) || found->st_uid == geteuid() || found->st_uid == info.st_uid;
}

/* Takes one step along a link. */
static kdl_status follow(const char *shown, char path[PATH_MAX]) {
  char next[PATH_MAX], folder[PATH_MAX] = "";
  ssize_t length = readlink(path, next, sizeof next - 1);
  if (length < 0)
    return failed(shown, "write there");
  next[length] = '\0';
  bool fits = next[0] == '/' || !strchr(path, '/') || folder_of(path, folder);
  if (!fits || strlen(folder) + (size_t)length >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return failed(shown, "write there");
  }
  stpcpy(stpcpy(path, folder), next);
  return KDL_OK;
}

kdl_status kdl_file_follow(const char *path, char out_end[PATH_MAX]) {
  struct stat info;
  if (snprintf(out_end, PATH_MAX, "%s", path) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return failed(path, "write there");
  }
  for (int links = 0; lstat(out_end, &info) == 0; ++links) {
    if (!S_ISREG(info.st_mode) && !is_own(out_end, &info))
      return kdl_fail(KDL_IO,
                      "%s: cannot write there: found a link, pipe or the like of another user "
                      "(number %ju) in a folder that every user may write to: %s",
                      path, (uintmax_t)info.st_uid, out_end);
    if (!S_ISLNK(info.st_mode))
      return KDL_OK;
    if (links == limit_links) {
      errno = ELOOP;
      return failed(path, "write there");
    }
    kdl_status status = follow(path, out_end);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

kdl_status kdl_file_open(const char *path, int flags, int *out_fd) {
  enum { mode = 0666 };
  char end[PATH_MAX];
  struct stat info;
  kdl_status status = kdl_file_follow(path, end);
  if (status != KDL_OK)
    return status;
  bool is_named = strcmp(path, end) == 0 || lstat(end, &info) == 0;
  int fd = open(is_named ? end : path, flags | O_CLOEXEC | (is_named ? O_NOFOLLOW : 0), mode);
  if (fd < 0)
    return failed(path, "open");
  *out_fd = fd;
  return KDL_OK;
}

kdl_status kdl_file_target(const char *path, char **out_target) {
  char end[PATH_MAX];
  struct stat info;
  kdl_status status = kdl_file_follow(path, end);
  if (status != KDL_OK)
    return status;
  /* A link to nowhere: writing "through" it would surprise. */
  bool is_nowhere = strcmp(end, path) != 0 && lstat(end, &info) != 0;
  char *target = is_nowhere ? NULL : strdup(end);
  if (!target)
    return failed(path, "write there");
  *out_target = target;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Descriptors                                                                                  */

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

kdl_status kdl_fd_write_failed(const char *path) {
  if (errno == EFAULT)
    return kdl_fail(KDL_IO, "a file was truncated or became unreadable while being read");
  return failed(path, "write");
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
/* Drafts                                                                                       */

/* A name beside `target` that nothing has, malloc'ed; NULL with errno. Where `target` has a name of
 * the longest sort, the new one has the beginning of it. */
static char *unique_beside(const char *target) {
  enum { suffix = 1 + 16 + 4 };
  const char *slash = strrchr(target, '/');
  size_t folder = slash ? (size_t)(slash - target) + 1 : 0, length = strlen(target + folder);
  uint64_t salt;
  char *path;
  if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
    return NULL;
  if (length > NAME_MAX - suffix)
    length = NAME_MAX - suffix;
  if (asprintf(&path, "%.*s.%016" PRIx64 ".tmp", (int)(folder + length), target, salt) < 0)
    return NULL;
  return path;
}

/* Calls `make` with such names until one is free: what it returned, and the name; -1 with errno. */
static int make_beside(const char *target, int (*make)(const char *path, int fd), int fd,
                       char **out_path) {
  int made = -1;
  for (int tries = 0; made < 0 && tries < 100; ++tries) {
    char *path = unique_beside(target);
    if (!path)
      return -1;
    made = make(path, fd);
    if (made >= 0) {
      *out_path = path;
      return made;
    }
    int reason = errno;
    free(path);
    errno = reason;
    if (reason != EEXIST)
      break;
  }
  return made;
}

static int create(const char *path, int unused) {
  (void)unused;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* By its entry in /proc: the other way takes a capability. */
static int name_file(const char *path, int fd) {
  char entry[32];
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, entry, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* A file without a name, so that nothing is left whatever ends the process; -1 where the file
 * system has none, or it could not be named later. */
static int create_nameless(const char *target) {
  char folder[PATH_MAX], entry[32];
  int fd = folder_of(target, folder) ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
  snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
  if (fd >= 0 && access(entry, F_OK) != 0) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* Set-id bits are not kept: they were given to what the file held. An ordinary user cannot give a
 * file away; the group alone is then worth a try. */
static void copy_ownership(int fd, const struct stat *old) {
  if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0)
    errno = 0;
  fchmod(fd, old->st_mode & 0777);
}

kdl_status kdl_file_draft_begin(const char *target, const char *shown, kdl_file_draft *out_draft) {
  kdl_file_draft draft = {.fd = create_nameless(target), .shown = shown};
  if (draft.fd < 0)
    draft.fd = make_beside(target, create, -1, &draft.path);
  if (draft.fd < 0)
    return failed(shown, "create a file beside it");
  *out_draft = draft;
  return KDL_OK;
}

void kdl_file_draft_drop(kdl_file_draft *draft) {
  close(draft->fd);
  if (draft->path)
    unlink(draft->path);
  free(draft->path);
}

kdl_status kdl_file_draft_keep(kdl_file_draft *draft, const char *name) {
  kdl_status status = fsync(draft->fd) == 0 ? KDL_OK : failed(draft->shown, "flush");
  if (status == KDL_OK && !draft->path &&
      make_beside(name, name_file, draft->fd, &draft->path) != 0)
    status = failed(draft->shown, "create a file beside it");
  if (close(draft->fd) != 0 && status == KDL_OK)
    status = failed(draft->shown, "close");
  if (status == KDL_OK && rename(draft->path, name) != 0)
    status = failed(draft->shown, "rename into place");
  if (status != KDL_OK && draft->path)
    unlink(draft->path);
  free(draft->path);
  return status;
}

kdl_status kdl_file_save_by(const char *path, kdl_status (*write)(void *user, int fd), void *user) {
  char *target;
  kdl_status status = kdl_file_target(path, &target);
  if (status != KDL_OK)
    return status;
  struct stat old;
  bool replaces = lstat(target, &old) == 0;
  kdl_file_draft draft;
  if (replaces && !S_ISREG(old.st_mode))
    status = kdl_fail(KDL_IO,
                      "%s: cannot write: found a directory, device, pipe or socket, expected a "
                      "regular file",
                      path);
  else
    status = kdl_file_draft_begin(target, path, &draft);
  if (status == KDL_OK && replaces && is_own(target, &old)) /* what others planted is not theirs */
    copy_ownership(draft.fd, &old);
  if (status == KDL_OK) {
    status = write(user, draft.fd);
    if (status == KDL_OK)
      status = kdl_file_draft_keep(&draft, target);
    else
      kdl_file_draft_drop(&draft);
  }
  free(target);
  return status;
}

typedef struct {
  const char *path;
  const void *data;
  size_t size;
} whole_file;

static kdl_status write_whole(void *user, int fd) {
  const whole_file *file = user;
  return kdl_fd_write(fd, file->data, file->size) ? KDL_OK : kdl_fd_write_failed(file->path);
}

kdl_status kdl_file_save(const char *path, const void *data, size_t size) {
  return kdl_file_save_by(path, write_whole, &(whole_file){path, data, size});
}

/* ------------------------------------------------------------------------------------------ */
/* Files in memory                                                                              */

/* Since Linux 6.3 a system can refuse memory files that do not say whether they are code. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int kdl_memory_file_make(const char *name, kdl_memory_file_use use, const void *data, size_t size) {
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
    return kdl_fail_code(kdl_status_of(errno), errno, "cannot read what %s wrote: %s", writer,
                         strerror(errno));
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
