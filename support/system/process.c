/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { first_file = 3, limit_files = 80 };

/* The child closes every descriptor from `first` on. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
static int close_other_descriptors(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
#else
/* An older glibc has no closefrom action, so this lists the open descriptors. One that another
 * thread opens meanwhile without O_CLOEXEC stays open in the child. */
static int close_other_descriptors(posix_spawn_file_actions_t *actions, int first) {
  DIR *open_files = opendir("/proc/self/fd");
  int problem = open_files ? 0 : errno;
  for (struct dirent *entry; !problem && (entry = readdir(open_files));) {
    long fd = strtol(entry->d_name, NULL, 10); /* 0 for "." and ".." */
    if (fd >= first && fd != dirfd(open_files))
      problem = posix_spawn_file_actions_addclose(actions, (int)fd);
  }
  if (open_files)
    closedir(open_files);
  return problem;
}
#endif

static int add_file_actions(const kdl_process *process, const int *sources,
                            posix_spawn_file_actions_t *actions) {
  int count = first_file + (int)process->file_count;
  int problem = 0;
  for (int i = 0; i < count && !problem; ++i)
    problem = sources[i] < 0
                  ? posix_spawn_file_actions_addopen(actions, i, "/dev/null",
                                                     i == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0)
                  : posix_spawn_file_actions_adddup2(actions, sources[i], i);
  if (!problem && process->is_isolated)
    problem = close_other_descriptors(actions, count);
  return problem;
}

/* The child must not inherit ignored or blocked signals. */
static int set_spawn_attributes(const kdl_process *process, posix_spawnattr_t *attributes) {
  sigset_t none, all;
  if (!process->is_isolated)
    return 0;
  sigemptyset(&none);
  sigfillset(&all);
  int problem = posix_spawnattr_setflags(
      attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (!problem)
    problem = posix_spawnattr_setpgroup(attributes, 0);
  if (!problem)
    problem = posix_spawnattr_setsigmask(attributes, &none);
  if (!problem)
    problem = posix_spawnattr_setsigdefault(attributes, &all);
  return problem;
}

static int spawn(const kdl_process *process, const int *sources, pid_t *out_child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int problem = posix_spawn_file_actions_init(&actions);
  if (problem)
    return problem;
  problem = posix_spawnattr_init(&attributes);
  if (!problem) {
    problem = add_file_actions(process, sources, &actions);
    if (!problem)
      problem = set_spawn_attributes(process, &attributes);
    if (!problem)
      problem = posix_spawn(out_child, process->path, &actions, &attributes,
                            (char *const *)(uintptr_t)process->arguments,
                            process->environment ? (char *const *)(uintptr_t)process->environment
                                                 : environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

int kdl_process_start(const kdl_process *process, pid_t *out_child) {
  int sources[first_file + limit_files];
  size_t count = 0;
  int problem = process->file_count <= limit_files ? 0 : EMFILE;
  /* Our descriptors move above the child's, so that dup2 overwrites none. */
  int clear_of_files = first_file + (int)process->file_count;
  for (; count < first_file + process->file_count && !problem; ++count) {
    int fd = count < first_file ? process->standard[count] : process->files[count - first_file];
    sources[count] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, clear_of_files);
    problem = fd >= 0 && sources[count] < 0 ? errno : 0;
  }
  if (!problem)
    problem = spawn(process, sources, out_child);
  while (count-- > 0) {
    if (sources[count] >= 0)
      close(sources[count]);
  }
  return problem;
}

int kdl_process_wait(pid_t child, int *out_state) {
  *out_state = 0;
  while (waitpid(child, out_state, 0) < 0) {
    if (errno != EINTR)
      return errno;
  }
  return 0;
}
