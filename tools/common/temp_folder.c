/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signal handlers call these functions too: they allocate no memory and take no lock. */
#include "tools/common/temp_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { folder_count = 3, max_passes = 100 };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { signal_count = sizeof signals / sizeof *signals };

static char folders[folder_count][PATH_MAX]; /* the innermost first */
static pid_t owner;                          /* 0: no folder */
static struct sigaction saved_actions[signal_count];

static bool remove_file(int folder, const char *name, time_t age) {
  struct stat info;
  const bool is_own = age < 0; /* the folder: what is in it need not be files */
  return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISREG(info.st_mode) || (is_own && !S_ISDIR(info.st_mode))) &&
         time(NULL) - info.st_mtime >= age && unlinkat(folder, name, 0) == 0;
}

bool temp_folder_remove_files(const char *path, time_t age) {
  _Alignas(struct dirent64) char items[4096];
  bool has_removed = false;
  long size;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return false;
  while ((size = syscall(SYS_getdents64, fd, items, sizeof items)) > 0) {
    for (long at = 0; at < size;) {
      const struct dirent64 *item = (const struct dirent64 *)(items + at);
      has_removed |= remove_file(fd, item->d_name, age);
      at += item->d_reclen;
    }
  }
  close(fd);
  return has_removed;
}

/* kdl-registry may still be writing there; once the folder is removed, it cannot. */
static void remove_temp_folder(void) {
  for (size_t i = 0; i < folder_count; ++i) {
    for (int pass = 0; pass < max_passes && rmdir(folders[i]) != 0; ++pass) {
      if (!temp_folder_remove_files(folders[i], INT_MIN) && pass)
        break;
    }
  }
}

/* A forked child that has not yet called exec has the handler too. */
static void on_signal(int number) {
  if (getpid() == owner)
    remove_temp_folder();
  raise(number); /* ends the process: the handler is reset, and the signal is not blocked */
}

static bool make_temp_folder(char *path) {
  static const char *const below[folder_count] = {"/blobs/sha256", "/blobs", ""};
  if (strlen(path) + strlen(below[0]) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  if (!mkdtemp(path))
    return false;
  for (size_t i = 0; i < folder_count; ++i)
    snprintf(folders[i], PATH_MAX, "%s%s", path, below[i]);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
  sigemptyset(&action.sa_mask);
  owner = getpid();
  for (size_t i = 0; i < signal_count; ++i) {
    sigaction(signals[i], NULL, &saved_actions[i]);
    if (saved_actions[i].sa_handler == SIG_DFL)
      sigaction(signals[i], &action, NULL);
  }
  return true;
}

/* Signals are blocked until the handlers are installed: one in between would leave the folder
 * behind. */
bool temp_folder_create(char *path) {
  sigset_t ending, saved_mask;
  sigemptyset(&ending);
  for (size_t i = 0; i < signal_count; ++i)
    sigaddset(&ending, signals[i]);
  sigprocmask(SIG_BLOCK, &ending, &saved_mask);
  bool is_created = make_temp_folder(path);
  int reason = errno;
  sigprocmask(SIG_SETMASK, &saved_mask, NULL);
  errno = reason;
  return is_created;
}

void temp_folder_remove(void) {
  if (!owner)
    return;
  remove_temp_folder();
  owner = 0;
  for (size_t i = 0; i < signal_count; ++i)
    sigaction(signals[i], &saved_actions[i], NULL);
}
