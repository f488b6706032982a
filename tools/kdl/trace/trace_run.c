/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program with KDL_TRACE set. */
#include "tools/kdl/trace/trace_report.h"

#include "support/base/error.h"
#include "support/system/process.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { exit_not_found = 127, exit_not_run = 126 };

static const char default_path[] = "kdl-trace.json";

/* Its process ID distinguishes the program from its children, which inherit the variables. */
static void exec_traced(const cli_args *args, const char *path, const char *const *words) {
  const char *size = cli_args_value(args, "size");
  char process[16];
  snprintf(process, sizeof process, "%d", (int)getpid());
  if (setenv("KDL_TRACE", path, 1) != 0 || setenv("KDL_TRACE_PROCESS", process, 1) != 0 ||
      (size && setenv("KDL_TRACE_SIZE", size, 1) != 0) ||
      (cli_args_has(args, "gpu-time") && setenv("KDL_TRACE_GPU", "1", 1) != 0))
    return;
  execvp(words[0], (char *const *)(uintptr_t)words);
}

static pid_t start_traced(const cli_args *args, const char *path, const char *const *words) {
  struct sigaction interrupt, quit, ignore = {.sa_handler = SIG_IGN};
  /* Ctrl-C is for the program: whether or not it ends, its trace is reported. */
  sigaction(SIGINT, &ignore, &interrupt);
  sigaction(SIGQUIT, &ignore, &quit);
  pid_t child = fork();
  if (child != 0)
    return child;
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGQUIT, &quit, NULL);
  signal(SIGXFSZ, SIG_DFL); /* as it was before main.c */
  exec_traced(args, path, words);
  int reason = errno;
  cli_report_status(kdl_fail(KDL_IO, "%s: cannot be run: %s", words[0], strerror(reason)));
  _exit(reason == ENOENT ? exit_not_found : exit_not_run);
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void report_trace(const char *path, const char *program, int status,
                         const struct stat *before) {
  struct stat after = {.st_size = 0};
  bool is_there = stat(path, &after) == 0;
  if (is_there && !(before->st_ino && is_same_file(before, &after)))
    fprintf(stderr,
            "kdl trace: %s: %lld bytes; 'kdl trace report %s' sums it up, Perfetto shows it\n",
            path, (long long)after.st_size, path);
  else if (WIFSIGNALED(status))
    cli_warning("%s was ended by signal %d (%s), so that it wrote no trace", program,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (WIFEXITED(status) && WEXITSTATUS(status) != exit_not_found &&
           WEXITSTATUS(status) != exit_not_run)
    cli_warning("%s wrote no trace: it did not use libkdl, ended by _exit, or could not write it",
                program);
}

int cli_trace_run(const cli_args *args, const char *const *words) {
  const char *path = cli_args_value(args, "output");
  struct stat before = {.st_ino = 0};
  path = path ? path : default_path;
  kdl_status checked = cli_output_check(path);
  if (checked != KDL_OK)
    return cli_report_status(checked);
  if (stat(path, &before) != 0)
    before.st_ino = 0;
  fflush(NULL);
  pid_t child = start_traced(args, path, words);
  int status;
  if (child < 0)
    return cli_report_status(
        kdl_fail(kdl_status_from_errno(errno), "cannot start a process: %s", strerror(errno)));
  kdl_process_wait(child, &status);
  report_trace(path, words[0], status, &before);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
