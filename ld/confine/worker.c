/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/confine/worker.h"

#include "support/base/error.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { exit_lost = 1, exit_signalled = 128 };

static ld_worker here;

ld_worker ld_worker_here(void) {
  return here;
}

/* LeakSanitizer looks up its threads in /proc by IDs that differ in the namespace. */
#ifdef LD_SANITIZED
static pid_t start_apart(void) {
  here.problem = ENOTSUP;
  return -1;
}
#else
/* fork() into new namespaces: the first of these that the system allows. Root needs no user
 * namespace, and in one could not read other users' files. */
static pid_t start_apart(void) {
  static const unsigned long flags[] = {CLONE_NEWPID, CLONE_NEWPID | CLONE_NEWUSER};
  pid_t child = -1;
  for (size_t i = 0; i < sizeof flags / sizeof *flags && child < 0; ++i) {
    child = (pid_t)syscall(SYS_clone, flags[i] | SIGCHLD, 0L, 0L, 0L, 0L);
    here.problem = child < 0 ? errno : 0;
    here.has_pids = child >= 0;
    here.has_users = child >= 0 && flags[i] & CLONE_NEWUSER;
  }
  return child;
}
#endif

/* Kills this process when the parent dies. If it has already died, its end of the pipe is
 * closed. */
static void end_with_parent(int alive) {
  struct pollfd parent = {.fd = alive};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (poll(&parent, 1, 0) != 0)
    _exit(exit_lost);
  close(alive);
}

/* PID 1 of a namespace cannot kill itself with a signal, so it passes the signal number on in its
 * exit status. When it ends, the kernel kills everything in the namespace. Returns in the second
 * process. */
static void start_second(void) {
  pid_t child = fork();
  int state;
  if (child == 0)
    return;
  if (child < 0 || kdl_process_wait(child, &state) != 0)
    _exit(exit_lost);
  _exit(WIFSIGNALED(state) ? exit_signalled + WTERMSIG(state) : WEXITSTATUS(state));
}

static kdl_status fail_worker_start(const char *what, int problem) {
  return kdl_fail(kdl_status_from_errno(problem), "cannot start a process to work in: %s: %s", what,
                  strerror(problem));
}

static int exit_like_child(int state) {
  bool is_passed_on = WIFEXITED(state) && here.has_pids && WEXITSTATUS(state) > exit_signalled;
  if (!is_passed_on && !WIFSIGNALED(state))
    return WEXITSTATUS(state);
  int number = is_passed_on ? WEXITSTATUS(state) - exit_signalled : WTERMSIG(state);
  signal(number, SIG_DFL);
  raise(number);
  return exit_lost;
}

kdl_status ld_worker_run(bool is_apart, int (*work)(void *user), void *user, int *out_code) {
  int alive[2], state;
  if (pipe2(alive, O_CLOEXEC) != 0)
    return fail_worker_start("pipe", errno);
  fflush(NULL);
  pid_t child = is_apart ? start_apart() : -1;
  if (child < 0)
    child = fork();
  if (child == 0) {
    close(alive[1]);
    end_with_parent(alive[0]);
    if (here.has_pids)
      start_second();
    exit(work(user));
  }
  int problem = child < 0 ? errno : 0;
  close(alive[0]);
  if (!problem)
    problem = kdl_process_wait(child, &state);
  close(alive[1]);
  if (problem)
    return fail_worker_start("fork", problem);
  *out_code = exit_like_child(state);
  return KDL_OK;
}
