/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program with KDL_TRACE set, and with the shared objects that record what a program of CUDA
 * or HIP loads and launches (ext/inject). */
#include "tools/kdl/trace/trace_report.h"

#include "support/base/error.h"
#include "support/system/subprocess.h"
#include "support/system/variables.h"
#include "tools/common/output.h"
#include "tools/common/program_folder.h"
#include "tools/common/report.h"
#include "tools/common/temp_folder.h"
#include "tools/common/text.h"
#include "tools/kdl/trace/modules.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { exit_not_found = 127, exit_not_run = 126 };

static const char default_path[] = "kdl-trace.json";

/* ------------------------------------------------------------------------------------------ */
/* Shared objects in the program                                                                */

static bool find_injected(const char *name, char out_path[PATH_MAX]) {
  static const char *const folders[] = {"../lib", "../" KDL_LIBRARY_FOLDER};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
    char *below = xasprintf("%s/%s", folders[i], name);
    bool found = cli_program_file(below, out_path) && access(out_path, R_OK) == 0;
    free(below);
    if (found)
      return true;
  }
  return false;
}

/* A tool that is named already, such as a profiler, stays. */
static bool inject_cuda(const char *path) {
  if (setenv("CUDA_INJECTION64_PATH", path, 0) != 0)
    return false;
  const char *tool = kdl_environment(KDL_VARIABLE_CUDA_INJECTION64_PATH);
  if (!tool || strcmp(tool, path) != 0)
    cli_note("CUDA_INJECTION64_PATH names another tool, so that programs of CUDA are not seen");
  return true;
}

static bool inject_hip(const char *path) {
  const char *others = kdl_environment(KDL_VARIABLE_LD_PRELOAD);
  char *list =
      xasprintf("%s%s%s", others && *others ? others : "", others && *others ? ":" : "", path);
  bool is_set = setenv("LD_PRELOAD", list, 1) == 0;
  free(list);
  return is_set;
}

static bool inject(const char *folder) {
  static const struct {
    const char *library, *vendor;
    bool (*inject)(const char *path);
  } all[] = {{"libkdl-trace-cuda.so", "CUDA", inject_cuda},
             {"libkdl-trace-hip.so", "HIP", inject_hip}};
  bool is_set = setenv("KDL_TRACE_MODULES", folder, 1) == 0;
  for (size_t i = 0; i < sizeof all / sizeof *all && is_set; ++i) {
    char path[PATH_MAX];
    if (find_injected(all[i].library, path))
      is_set = all[i].inject(path);
    else
      cli_note("%s was not found, so that programs of %s are not seen", all[i].library,
               all[i].vendor);
  }
  return is_set;
}

/* ------------------------------------------------------------------------------------------ */

/* Its process ID distinguishes the program from its children, which inherit the variables. */
static void exec_traced(const cli_args *args, const char *path, const char *folder,
                        const char *const *words) {
  const char *size = cli_args_value(args, "size");
  char process[16];
  snprintf(process, sizeof process, "%d", (int)getpid());
  if (setenv("KDL_TRACE", path, 1) != 0 || setenv("KDL_TRACE_PROCESS", process, 1) != 0 ||
      (size && setenv("KDL_TRACE_SIZE", size, 1) != 0) ||
      (cli_args_has(args, "gpu-time") && setenv("KDL_TRACE_GPU", "1", 1) != 0) ||
      (cli_args_has(args, "no-launches") && setenv("KDL_TRACE_NO_LAUNCHES", "1", 1) != 0) ||
      (folder && !inject(folder)))
    return;
  execvp(words[0], (char *const *)(uintptr_t)words);
}

static pid_t start_traced(const cli_args *args, const char *path, const char *folder,
                          const char *const *words) {
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
  exec_traced(args, path, folder, words);
  int reason = errno;
  cli_report_status(kdl_fail(KDL_IO, "%s: cannot be run: %s", words[0], strerror(reason)));
  _exit(reason == ENOENT ? exit_not_found : exit_not_run);
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void report_trace(const char *path, const char *program, int status,
                         const struct stat *before, bool is_recorded) {
  struct stat after = {.st_size = 0};
  bool is_there = stat(path, &after) == 0;
  if (is_there && !(before->st_ino && is_same_file(before, &after)))
    cli_text_printf(
        stderr, "kdl trace: %s: %lld bytes; 'kdl trace report %s' sums it up, Perfetto shows it\n",
        path, (long long)after.st_size, path);
  else if (is_recorded)
    return; /* a program of CUDA or HIP */
  else if (WIFSIGNALED(status))
    cli_warning("%s was ended by signal %d (%s), so that it wrote no trace", program,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (WIFEXITED(status) && WEXITSTATUS(status) != exit_not_found &&
           WEXITSTATUS(status) != exit_not_run)
    cli_warning("%s wrote no trace: it did not use libkdl, ended by _exit, or could not write it",
                program);
}

/* ------------------------------------------------------------------------------------------ */
/* While the program runs                                                                       */

/* Prints what the program records as it does so. */
static void follow(cli_recordings *recordings, pid_t child, int *out_status) {
  enum { without_pidfd_ms = 50 };
  char events[4096];
  struct pollfd files[] = {{.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN},
                           {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN}};
  bool is_watched = files[0].fd >= 0 && files[1].fd >= 0 &&
                    inotify_add_watch(files[1].fd, recordings->folder, IN_MODIFY) >= 0;
  for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR);) {
    poll(files, 2, is_watched ? -1 : without_pidfd_ms);
    while (is_watched && read(files[1].fd, events, sizeof events) > 0)
      continue;
    cli_recordings_follow(recordings);
    ended = waitpid(child, out_status, WNOHANG);
  }
  cli_recordings_follow(recordings);
  cli_recordings_count(recordings);
  for (size_t i = 0; i < 2; ++i) {
    if (files[i].fd >= 0)
      close(files[i].fd);
  }
}

/* What was recorded, at the end. */
static kdl_status report_recordings(const cli_args *args, const cli_recordings *recordings) {
  const char *json = cli_args_value(args, "json"), *launched = cli_args_value(args, "launched");
  cli_demangler *demangler = cli_trace_demangler(args);
  cli_recordings_print(recordings, demangler);
  cli_demangler_stop(demangler);
  if (json)
    KDL_TRY(cli_recordings_save_json(recordings, json));
  return launched ? cli_recordings_save_launched(recordings, launched) : KDL_OK;
}

static kdl_status run_traced(const cli_args *args, const char *path, cli_recordings *recordings,
                             const char *const *words, int *out_status) {
  struct stat before = {.st_ino = 0};
  if (stat(path, &before) != 0)
    before.st_ino = 0;
  fflush(NULL);
  pid_t child = start_traced(args, path, recordings->folder, words);
  if (child < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot start a process: %s", strerror(errno));
  if (recordings->folder)
    follow(recordings, child, out_status);
  else
    kdl_process_wait(child, out_status);
  kdl_status status = report_recordings(args, recordings);
  report_trace(path, words[0], *out_status, &before, recordings->count != 0);
  return status;
}

int cli_trace_run(const cli_args *args, const char *const *words) {
  const char *path = cli_args_value(args, "output"),
             *temporary = kdl_environment(KDL_VARIABLE_TMPDIR);
  int ended = 0;
  path = path ? path : default_path;
  kdl_status status = cli_output_check(path);
  char *folder =
      xasprintf("%s/kdl-trace-XXXXXX", temporary && *temporary == '/' ? temporary : "/tmp");
  cli_recordings recordings = {.folder = temp_folder_create(folder) ? folder : NULL};
  if (!recordings.folder)
    cli_note("%s: cannot be created: %s; programs of CUDA and HIP are not seen", folder,
             strerror(errno));
  if (status == KDL_OK)
    status = run_traced(args, path, &recordings, words, &ended);
  cli_recordings_free(&recordings);
  temp_folder_remove();
  free(folder);
  if (status != KDL_OK)
    return cli_report_status(status);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}
