/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program and looks at what it and its children map: now and then while they run, and, since
 * they are traced, when each begins and before each ends. The program is not stopped otherwise: its
 * system calls are its own. Where it cannot be traced, it is looked at now and then. */
#include "base/error.h"
#include "check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { first_pause_ms = 5, longest_pause_ms = 100, deepest = 32 };
enum { exit_not_run = 126, exit_not_found = 127 }; /* as a shell has them */

typedef struct {
  check *c;
  const char *const *words;
  pid_t child;
  int link;   /* says why the program could not be run, or closes when it is */
  int state;  /* of the child, as from waitpid */
  int reason; /* why no process could be started, or 0 */
  bool is_over;
  struct sigaction interrupt, quit; /* as they were */
} program;

/* ------------------------------------------------------------------------------------------ */
/* Starting                                                                                     */

/* Runs in the child, which waits until it is traced. `link` closes where the program begins. */
static void become(const program *p, const int gate[2], int link, const sigset_t *mask) {
  char byte;
  close(gate[1]);
  sigprocmask(SIG_SETMASK, mask, NULL);
  sigaction(SIGINT, &p->interrupt, NULL);
  sigaction(SIGQUIT, &p->quit, NULL);
  signal(SIGXFSZ, SIG_DFL); /* as it was before main.c */
  signal(SIGBUS, SIG_DFL);
  while (read(gate[0], &byte, 1) < 0 && errno == EINTR)
    continue;
  execvp(p->words[0], (char *const *)(uintptr_t)p->words);
  int reason = errno;
  if (write(link, &reason, sizeof reason) < 0)
    _exit(exit_not_run);
  _exit(exit_not_run);
}

/* A program that gives its user more rights would not while it is traced by one without them. */
static bool gives_rights(const char *name) {
  struct stat info;
  char path[4096];
  const char *folders = getenv("PATH");
  if (strchr(name, '/') || !folders)
    return stat(name, &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID));
  for (const char *at = folders; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
    snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, name);
    if (access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode))
      return info.st_mode & (S_ISUID | S_ISGID);
  }
  return false;
}

static bool trace(const program *p) {
  const long events = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK |
                      PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  if (geteuid() != 0 && gives_rights(p->words[0]))
    return false;
  return ptrace(PTRACE_SEIZE, p->child, NULL, (void *)events) == 0;
}

/* 0, or the number of the error. */
static int start(program *p) {
  int gate[2], link[2];
  sigset_t children, mask;
  if (pipe2(gate, O_CLOEXEC) != 0)
    return errno;
  if (pipe2(link, O_CLOEXEC) != 0) {
    int reason = errno;
    close(gate[0]);
    close(gate[1]);
    return reason;
  }
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &children, &mask);
  p->child = fork();
  if (p->child == 0)
    become(p, gate, link[1], &mask);
  int reason = p->child < 0 ? errno : 0;
  if (!reason)
    p->c->is_traced = trace(p);
  close(gate[0]);
  close(gate[1]);
  close(link[1]);
  p->link = link[0];
  return reason;
}

/* ------------------------------------------------------------------------------------------ */
/* Looking                                                                                      */

static void look_at(const program *p, pid_t process) {
  int reason;
  if (check_look_at_maps(p->c, process, &reason) == 0 && reason == EACCES)
    p->c->is_denied = true;
}

/* What the process and those that it started map now. */
static void look_at_all(const program *p, pid_t process, int depth) {
  char path[96];
  int child;
  look_at(p, process);
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
  FILE *children = depth < deepest ? fopen(path, "re") : NULL;
  /* NOLINTBEGIN(bugprone-unchecked-string-to-number-conversion,cert-err34-c): the kernel's own */
  while (children && fscanf(children, "%d", &child) == 1)
    look_at_all(p, child, depth + 1);
  /* NOLINTEND(bugprone-unchecked-string-to-number-conversion,cert-err34-c) */
  if (children)
    fclose(children);
}

/* A thread that ends is of no interest unless it is the last: the first one ends with it, or has
 * ended before. */
static bool is_last_thread(pid_t thread) {
  char path[64], text[256];
  pid_t process = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
  FILE *status = fopen(path, "re");
  while (status && !process && fgets(text, sizeof text, status)) {
    if (strncmp(text, "Tgid:", 5) == 0)
      process = (pid_t)strtol(text + 5, NULL, 10);
  }
  if (status)
    fclose(status);
  if (process == thread)
    return true;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *leader = fopen(path, "re");
  bool has_ended = false;
  if (leader && fgets(text, sizeof text, leader)) {
    const char *behind = strrchr(text, ')'); /* the name may hold anything */
    has_ended = behind && behind[1] == ' ' && behind[2] == 'Z';
  }
  if (leader)
    fclose(leader);
  return has_ended;
}

/* ------------------------------------------------------------------------------------------ */
/* Following                                                                                    */

/* Lets a thread that stopped go on as if it were not traced. */
static void let_go_on(const program *p, pid_t thread, int state) {
  int event = state >> 16, number = WSTOPSIG(state);
  if (event == PTRACE_EVENT_EXEC || (event == PTRACE_EVENT_EXIT && is_last_thread(thread)))
    look_at(p, thread);
  bool stays_stopped = event == PTRACE_EVENT_STOP && number != SIGTRAP;
  ptrace(stays_stopped ? PTRACE_LISTEN : PTRACE_CONT, thread, NULL,
         event ? NULL : (void *)(intptr_t)number);
}

static void follow(program *p) {
  int state;
  pid_t from;
  while (!p->is_over && (from = waitpid(-1, &state, __WALL | WNOHANG)) > 0) {
    if (WIFSTOPPED(state)) {
      let_go_on(p, from, state);
    } else if (from == p->child) {
      p->is_over = true;
      p->state = state;
    }
  }
}

/* A thread of its own: when it ends, what the program has left running is let go. */
static void *run(void *user) {
  program *p = user;
  long pause_ms = first_pause_ms;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  p->reason = start(p);
  if (p->reason)
    return NULL;
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  while (!p->is_over) {
    struct timespec pause = {0, pause_ms * 1000000}, now;
    sigtimedwait(&children, NULL, &pause);
    follow(p);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (p->is_over ||
        (now.tv_sec - next.tv_sec) * 1000 + (now.tv_nsec - next.tv_nsec) / 1000000 < pause_ms)
      continue;
    look_at_all(p, p->child, 0);
    clock_gettime(CLOCK_MONOTONIC, &next);
    pause_ms = pause_ms * 2 < longest_pause_ms ? pause_ms * 2 : longest_pause_ms;
  }
  return NULL;
}

/* What the child said before it gave up, or 0. */
static int why_not_run(const program *p) {
  int reason;
  bool failed = p->link >= 0 && read(p->link, &reason, sizeof reason) == sizeof reason;
  if (p->link >= 0)
    close(p->link);
  return failed ? reason : 0;
}

kdl_status check_run_program(check *c, const char *const *words, int *out_code) {
  program p = {.c = c, .words = words, .link = -1};
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  pthread_t thread;
  fflush(NULL);
  *out_code = exit_not_run;
  sigaction(SIGINT, &ignore, &p.interrupt); /* Ctrl-C is the program's */
  sigaction(SIGQUIT, &ignore, &p.quit);
  int failed = pthread_create(&thread, NULL, run, &p);
  if (!failed)
    pthread_join(thread, NULL);
  sigaction(SIGINT, &p.interrupt, NULL);
  sigaction(SIGQUIT, &p.quit, NULL);
  failed = failed ? failed : p.reason;
  if (failed)
    return kdl_fail(KDL_IO, "cannot start a process: %s", strerror(failed));
  int reason = why_not_run(&p);
  if (reason) {
    *out_code = reason == ENOENT ? exit_not_found : exit_not_run;
    return kdl_fail(KDL_IO, "%s: cannot be run: %s", words[0], strerror(reason));
  }
  *out_code = WIFEXITED(p.state) ? WEXITSTATUS(p.state) : 128 + WTERMSIG(p.state);
  return KDL_OK;
}
