/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program and inspects what it and its children map, every few milliseconds. The program is
 * neither stopped nor traced: shorter mappings are missed. */
#include "pack/check/check.h"
#include "support/base/error.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { pause_ms = 5, deepest = 32 };
enum { exit_not_run = 126, exit_not_found = 127 }; /* as in a shell */

/* Records what the process and its descendants map now. */
static void read_process_tree_maps(check *c, pid_t process, int depth) {
  char path[96];
  int child, reason;
  if (check_read_maps(c, process, &reason) == 0 && reason == EACCES)
    c->is_denied = true;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
  FILE *children = depth < deepest ? fopen(path, "re") : NULL;
  /* NOLINTBEGIN(bugprone-unchecked-string-to-number-conversion,cert-err34-c): the kernel's own */
  while (children && fscanf(children, "%d", &child) == 1)
    read_process_tree_maps(c, child, depth + 1);
  /* NOLINTEND(bugprone-unchecked-string-to-number-conversion,cert-err34-c) */
  if (children)
    fclose(children);
}

/* Restores the signals as before main.c; keyboard signals are for the program. */
static int spawn_program(const char *const *words, const sigset_t *defaults, pid_t *out_child) {
  posix_spawnattr_t how;
  int reason = posix_spawnattr_init(&how);
  if (reason)
    return reason;
  posix_spawnattr_setsigdefault(&how, defaults);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
  reason = posix_spawnp(out_child, words[0], NULL, &how, (char *const *)(uintptr_t)words, environ);
  posix_spawnattr_destroy(&how);
  return reason;
}

kdl_status check_run_program(check *c, const char *const *words, int *out_code) {
  static const int keys[] = {SIGINT, SIGQUIT};
  void (*before[2])(int);
  sigset_t defaults;
  pid_t child;
  int state = 0;
  fflush(NULL);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGXFSZ);
  for (size_t i = 0; i < 2; ++i) {
    before[i] = signal(keys[i], SIG_IGN);
    if (before[i] != SIG_IGN)
      sigaddset(&defaults, keys[i]);
  }
  int reason = spawn_program(words, &defaults, &child);
  while (!reason && waitpid(child, &state, WNOHANG) == 0) {
    read_process_tree_maps(c, child, 0);
    nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000L}, NULL);
  }
  for (size_t i = 0; i < 2; ++i)
    signal(keys[i], before[i]);
  if (reason) {
    *out_code = reason == ENOENT ? exit_not_found : exit_not_run;
    return kdl_fail(KDL_IO, "%s: cannot be run: %s", words[0], strerror(reason));
  }
  *out_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return KDL_OK;
}
