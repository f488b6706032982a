/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Preloaded into a process, this makes one folder behave as a file system of a network may, as seen
 * from one of several machines. KDL_LATE_FOLDER is the folder; KDL_LATE_HOST says which machine the
 * process is on; what another machine wrote in the last KDL_LATE_MS milliseconds
 *
 *   - is not there yet, or
 *   - is there with the first part of its bytes, or none, or
 *   - cannot be opened: ESTALE, EIO.
 *
 * Renames and removals are done and now and then answered as if they were asked for twice: ENOENT.
 * Creating a file that must not be there is atomic, as NFS has it since version 3. What a machine
 * itself did, it sees at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char mark[] = "user.kdl.host";

static bool is_late_folder(int folder) {
  const char *wanted = getenv("KDL_LATE_FOLDER");
  char link[64], path[PATH_MAX];
  if (!wanted || folder < 0)
    return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = readlink(link, path, sizeof path - 1);
  return length > 0 && (size_t)length == strlen(wanted) &&
         memcmp(path, wanted, (size_t)length) == 0;
}

static unsigned any_number(void) {
  unsigned number = 0;
  return getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number ? number : 0;
}

static int fail(int reason) {
  errno = reason;
  return -1;
}

static bool is_own(int fd) {
  const char *host = getenv("KDL_LATE_HOST");
  char found[32];
  ssize_t length = fgetxattr(fd, mark, found, sizeof found);
  return host && length == (ssize_t)strlen(host) && memcmp(found, host, (size_t)length) == 0;
}

/* When the file was last renamed or written to. */
static bool is_young(const struct stat *info) {
  const char *late = getenv("KDL_LATE_MS");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t age = ((int64_t)now.tv_sec - info->st_ctim.tv_sec) * 1000 +
                (now.tv_nsec - info->st_ctim.tv_nsec) / 1000000;
  return late && age < atol(late);
}

/* Some of the bytes, in a file that nothing else sees. */
static int show_part(int fd, const struct stat *info) {
  char bytes[4096];
  size_t part = info->st_size ? any_number() % (size_t)info->st_size : 0;
  int shown = (int)syscall(SYS_memfd_create, "part", MFD_CLOEXEC);
  if (shown < 0)
    return fail(EIO);
  fchmod(shown, 0600);
  for (size_t done = 0; done < part;) {
    size_t step = part - done < sizeof bytes ? part - done : sizeof bytes;
    ssize_t got = pread(fd, bytes, step, (off_t)done);
    if (got <= 0 || write(shown, bytes, (size_t)got) != got)
      break;
    done += (size_t)got;
  }
  lseek(shown, 0, SEEK_SET);
  return shown;
}

static int open_late(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !is_young(&info) || is_own(fd))
    return fd;
  static const int reasons[] = {ENOENT, ENOENT, ENOENT, ESTALE, EIO};
  unsigned number = any_number() % 8;
  int shown = number < 5 ? fail(reasons[number]) : show_part(fd, &info);
  int reason = errno;
  close(fd);
  errno = reason;
  return shown;
}

int openat(int folder, const char *name, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
  if (fd < 0 || !is_late_folder(folder))
    return fd;
  if (flags & O_CREAT) {
    const char *host = getenv("KDL_LATE_HOST");
    if (host)
      (void)fsetxattr(fd, mark, host, strlen(host), 0);
    return fd;
  }
  return open_late(fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  int done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
  return done == 0 && is_late_folder(to_folder) && any_number() % 4 == 0 ? fail(ENOENT) : done;
}

int unlinkat(int folder, const char *name, int flags) {
  int done = (int)syscall(SYS_unlinkat, folder, name, flags);
  return done == 0 && is_late_folder(folder) && any_number() % 4 == 0 ? fail(ENOENT) : done;
}
