/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* late_folder.c for programs that name files by their paths, as the caches of others do: all that
 * lies below KDL_LATE_FOLDER. Renames to names that KDL_COUNT_NAMES lists, separated by colons, are
 * counted as bytes of the file KDL_COUNT_FILE. */
#include "late_folder.c" /* NOLINT(bugprone-suspicious-include) */

static bool is_below(const char *path) {
  const char *wanted = getenv("KDL_LATE_FOLDER");
  size_t length = wanted ? strlen(wanted) : 0;
  return length && path && strncmp(path, wanted, length) == 0 && path[length] == '/';
}

static int open_path(const char *path, int flags, mode_t mode) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (fd < 0 || !is_below(path))
    return fd;
  if (flags & O_CREAT) {
    const char *host = getenv("KDL_LATE_HOST");
    if (host)
      (void)fsetxattr(fd, mark, host, strlen(host), 0);
    return fd;
  }
  return open_late(fd);
}

static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
  int name(const char *path, int flags, ...) {                                                     \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    mode_t mode = mode_of(flags, list);                                                            \
    va_end(list);                                                                                  \
    return open_path(path, flags, mode);                                                           \
  }
OPEN(open)
OPEN(open64)

static FILE *open_stream(const char *path, const char *mode) {
  int flags = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
  flags |= *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT | O_APPEND : 0;
  int fd = open_path(path, flags, 0666);
  return fd < 0 ? NULL : fdopen(fd, mode);
}
FILE *fopen(const char *path, const char *mode) {
  return open_stream(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  return open_stream(path, mode);
}

/* Files with names of their own. */
static int make_temporary(char *template, int suffix, int flags) {
  char *digits = template + strlen(template) - suffix - 6;
  for (int tries = 0; tries < 100; ++tries) {
    unsigned number = any_number();
    for (int i = 0; i < 6; ++i, number /= 26)
      digits[i] = (char)('a' + number % 26);
    int fd = open_path(template, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST)
      return fd;
  }
  return -1;
}
int mkostemps(char *template, int suffix, int flags) {
  return make_temporary(template, suffix, flags);
}
int mkostemp(char *template, int flags) {
  return make_temporary(template, 0, flags);
}
int mkstemps(char *template, int suffix) {
  return make_temporary(template, suffix, 0);
}
int mkstemp(char *template) {
  return make_temporary(template, 0, 0);
}

/* What cannot be opened cannot be seen. */
static bool is_hidden(const char *path) {
  int fd = is_below(path) ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) : -1;
  struct stat info;
  bool hidden = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_young(&info) &&
                !is_own(fd) && any_number() % 2;
  if (fd >= 0)
    close(fd);
  return hidden;
}
int access(const char *path, int mode) {
  return is_hidden(path) ? fail(ENOENT) : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}
int stat(const char *path, struct stat *info) {
  return is_hidden(path) ? fail(ENOENT) : fstatat(AT_FDCWD, path, info, 0);
}
int stat64(const char *path, struct stat64 *info) {
  return is_hidden(path) ? fail(ENOENT) : fstatat64(AT_FDCWD, path, info, 0);
}

static void count_name(const char *path) {
  const char *list = getenv("KDL_COUNT_NAMES"), *file = getenv("KDL_COUNT_FILE");
  size_t length = strlen(path);
  for (const char *at = list; file && at && *at;
       at += strcspn(at, ":") + (at[strcspn(at, ":")] != 0)) {
    size_t size = strcspn(at, ":");
    if (length < size || strncmp(path + length - size, at, size) != 0)
      continue;
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, at, 1) == 1)
      close(fd);
  }
}

int rename(const char *from, const char *to) {
  int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (done == 0)
    count_name(to);
  bool may_lie = is_below(to) && getenv("KDL_LATE_MS") && !getenv("KDL_LATE_RENAMES_HOLD");
  return done == 0 && may_lie && any_number() % 4 == 0 ? fail(ENOENT) : done;
}
