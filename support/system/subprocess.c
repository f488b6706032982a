/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/subprocess.h"

#include "support/base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  step_ms = 10,          /* poll interval, where no descriptor signals the end */
  drained = 64,          /* reads after the end; a descendant may write forever */
  patience_ms = 5 * 1000 /* for the kernel to end a killed process */
};

static _Thread_local int cancel_fd = -1;

void kdl_subprocess_cancel_on(int fd) {
  cancel_fd = fd;
}

bool kdl_subprocess_is_cancelled(void) {
  struct pollfd from = {.fd = cancel_fd, .events = POLLIN};
  return cancel_fd >= 0 && poll(&from, 1, 0) > 0;
}

static int64_t monotonic_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------------------------------ */
/* Starting                                                                                     */

/* Sets limits from outside, since posix_spawn cannot and a fork of a large process is slow. The
 * program is then still being loaded and has not read its input. */
static bool set_child_limits(const kdl_subprocess *subprocess, pid_t child) {
  rlim_t seconds = (rlim_t)(subprocess->milliseconds / 1000 + 1);
  const struct {
    __rlimit_resource_t resource;
    rlim_t most;
  } limits[] = {
      {RLIMIT_CPU, seconds},
      {RLIMIT_AS, subprocess->memory ? subprocess->memory : RLIM_INFINITY},
      {RLIMIT_FSIZE, subprocess->largest_file},
      {RLIMIT_CORE, 0},
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    struct rlimit now;
    if (prlimit(child, limits[i].resource, NULL, &now) != 0)
      return errno == ESRCH;
    if (limits[i].most < now.rlim_max)
      now.rlim_max = limits[i].most;
    if (now.rlim_cur > now.rlim_max)
      now.rlim_cur = now.rlim_max;
    if (prlimit(child, limits[i].resource, &now, NULL) != 0)
      return errno == ESRCH;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

/* Reads what is available; returns what read() returns. Text that does not fit is dropped. */
static ssize_t read_child_stderr(int from, kdl_subprocess_outcome *outcome) {
  char scrap[4096];
  size_t room = sizeof outcome->words - 1 - outcome->used;
  ssize_t got =
      room ? read(from, outcome->words + outcome->used, room) : read(from, scrap, sizeof scrap);
  if (room && got > 0)
    outcome->used += (size_t)got;
  return got;
}

/* Does not reap the child, so that its process and group ID stay in use. */
static bool child_has_exited(pid_t child, kdl_subprocess_outcome *outcome) {
  siginfo_t info = {.si_pid = 0};
  if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    outcome->end = KDL_SUBPROCESS_UNKNOWN;
    return errno != EINTR;
  }
  if (info.si_pid == 0)
    return false;
  outcome->end = info.si_code == CLD_EXITED ? KDL_SUBPROCESS_EXITED : KDL_SUBPROCESS_KILLED;
  outcome->code = info.si_status;
  return true;
}

/* A descriptor that can be read when the child ends; -1 where the system has none: before Linux
 * 5.3, in some sandboxes, and when there is no descriptor left. */
static int open_pidfd(pid_t child) {
  return (int)syscall(SYS_pidfd_open, child, 0);
}

/* Waits until there is text on standard error, the child ends, or the time is over. -1: not
 * open. */
static void poll_child(int words, int ending, int64_t milliseconds) {
  struct pollfd from[] = {{.fd = words, .events = POLLIN},
                          {.fd = ending, .events = POLLIN},
                          {.fd = cancel_fd, .events = POLLIN}};
  if (ending < 0 && milliseconds > step_ms)
    milliseconds = step_ms;
  poll(from, 3, milliseconds < INT_MAX ? (int)milliseconds : INT_MAX);
}

/* Waits until the child ends or its time is over. */
static void watch_child(pid_t child, int ending, int words, int64_t until,
                        kdl_subprocess_outcome *outcome) {
  bool is_open = true;
  while (!child_has_exited(child, outcome)) {
    int64_t left = until - monotonic_ms();
    if (left <= 0) {
      outcome->end = KDL_SUBPROCESS_OVERRAN;
      return;
    }
    if (kdl_subprocess_is_cancelled()) {
      outcome->end = KDL_SUBPROCESS_CANCELLED;
      return;
    }
    poll_child(is_open ? words : -1, ending, left);
    ssize_t got = is_open ? read_child_stderr(words, outcome) : 0;
    is_open = got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
  }
  for (int last = 0; last < drained && is_open; ++last)
    is_open = read_child_stderr(words, outcome) > 0;
}

/* Kills the process group. A process that the kernel cannot end is left behind. */
static void kill_group(pid_t child, int ending) {
  kill(-child, SIGKILL);
  int64_t until = monotonic_ms() + patience_ms, left = patience_ms;
  while (waitpid(child, NULL, WNOHANG) == 0 && left > 0) {
    poll_child(-1, ending, ending < 0 ? 1 : left);
    left = until - monotonic_ms();
  }
}

/* ------------------------------------------------------------------------------------------ */

/* `input` is a pipe, or -1. */
static kdl_status run_child(const kdl_subprocess *subprocess, const int input[2], int words,
                            int errors, kdl_subprocess_outcome *out_outcome) {
  pid_t child;
  kdl_process process = {.path = subprocess->path,
                         .arguments = subprocess->arguments,
                         .environment = subprocess->environment,
                         .standard = {input[0], errors, errors},
                         .files = subprocess->files,
                         .file_count = subprocess->file_count,
                         .is_isolated = true};
  int problem = kdl_process_start(&process, &child);
  if (problem)
    return kdl_fail_code(kdl_status_from_errno(problem), problem, "%s: cannot be started: %s",
                         subprocess->path, strerror(problem));
  int ending = open_pidfd(child);
  kdl_status status = KDL_OK;
  if (set_child_limits(subprocess, child)) {
    if (input[1] >= 0)
      (void)!write(input[1], "", 1); /* cannot fail: we hold both ends */
    watch_child(child, ending, words, monotonic_ms() + subprocess->milliseconds, out_outcome);
    /* Otherwise another process may have the ID by now. */
    if (out_outcome->end != KDL_SUBPROCESS_UNKNOWN)
      kill_group(child, ending);
    out_outcome->words[out_outcome->used] = '\0';
  } else {
    int reason = errno;
    kill_group(child, ending);
    status = kdl_fail_code(KDL_IO, reason, "%s: its limits cannot be set: %s", subprocess->path,
                           strerror(reason));
  }
  if (ending >= 0)
    close(ending);
  return status;
}

static kdl_status fail_subprocess_start(const kdl_subprocess *subprocess, const char *what) {
  return kdl_fail_code(kdl_status_from_errno(errno), errno, "%s: cannot be started: %s%s",
                       subprocess->path, what, strerror(errno));
}

kdl_status kdl_subprocess_run(const kdl_subprocess *subprocess,
                              kdl_subprocess_outcome *out_outcome) {
  int ends[2], input[2] = {-1, -1};
  out_outcome->used = 0;
  out_outcome->code = 0;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return fail_subprocess_start(subprocess, "pipe: ");
  kdl_status status;
  if (subprocess->awaits_limits && pipe2(input, O_CLOEXEC) != 0)
    status = fail_subprocess_start(subprocess, "pipe: ");
  else if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
    status = fail_subprocess_start(subprocess, "");
  else
    status = run_child(subprocess, input, ends[0], ends[1], out_outcome);
  for (int i = 0; i < 2; ++i) {
    close(ends[i]);
    if (input[i] >= 0)
      close(input[i]);
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Other programs                                                                               */

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
