/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/process.h"

#include "support/base/error.h"
#include "support/system/subprocess.h"
#include "support/system/variables.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/temp_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Running                                                                                      */

enum { max_running = 512 };

/* The running processes; 0 for none. An id is removed before its process is reaped, so that it
 * cannot belong to another process while it is listed. */
static _Atomic(pid_t) running[max_running];

static void register_child(pid_t child) {
  for (size_t i = 0; i < max_running; ++i) {
    pid_t none = 0;
    if (atomic_compare_exchange_strong(&running[i], &none, child))
      return;
  }
}

static void unregister_child(pid_t child) {
  for (size_t i = 0; i < max_running; ++i) {
    pid_t number = child;
    if (atomic_compare_exchange_strong(&running[i], &number, 0))
      return;
  }
}

void cc_kill_processes(void) {
  for (size_t i = 0; i < max_running; ++i) {
    pid_t child = atomic_load(&running[i]);
    if (child)
      kill(child, SIGTERM);
  }
}

static kdl_status wait_for_child(pid_t child, const char *program, int *out_code) {
  siginfo_t ended;
  int state;
  while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    continue;
  unregister_child(child);
  int failure = kdl_process_wait(child, &state);
  if (failure)
    return kdl_fail(KDL_IO, "%s: cannot wait for it: %s", program, strerror(failure));
  *out_code = WIFEXITED(state) ? WEXITSTATUS(state) : 256 + WTERMSIG(state);
  return KDL_OK;
}

/* Opens the target of a standard stream: a file, or memory. */
static bool open_stream(const char *path, int *out_fd) {
  *out_fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : memfd_create("kdl-cc", MFD_CLOEXEC);
  return *out_fd >= 0;
}

static kdl_string read_stream(kdl_arena *arena, int fd) {
  struct stat info;
  size_t size = fstat(fd, &info) == 0 ? (size_t)info.st_size : 0, at = 0;
  char *text = xarena_alloc(arena, size + 1);
  for (ssize_t got = 1; at < size && got > 0; at += got > 0 ? (size_t)got : 0)
    got = pread(fd, text + at, size - at, (off_t)at);
  text[at] = '\0';
  return (kdl_string){text, at};
}

kdl_status cc_run_process(kdl_arena *arena, const kdl_string_list *words, const char *out_path,
                          cc_process_result *out_result) {
  *out_result = (cc_process_result){.output = {"", 0}, .messages = {"", 0}};
  if (words->failed)
    cli_out_of_memory();
  pid_t child;
  kdl_process process = {
      .path = words->items[0], .arguments = words->items, .standard = {-1, -1, -1}};
  int *out = &process.standard[STDOUT_FILENO], *messages = &process.standard[STDERR_FILENO];
  int failure = open_stream(out_path, out) && open_stream(NULL, messages)
                    ? kdl_process_start(&process, &child)
                    : errno;
  kdl_status status = KDL_OK;
  if (failure) {
    status = kdl_fail(KDL_IO, "%s: cannot be started: %s", words->items[0], strerror(failure));
  } else {
    register_child(child);
    status = wait_for_child(child, words->items[0], &out_result->code);
    if (!out_path)
      out_result->output = read_stream(arena, *out);
    out_result->messages = read_stream(arena, *messages);
  }
  for (int i = STDOUT_FILENO; i <= STDERR_FILENO; ++i) {
    if (process.standard[i] >= 0)
      close(process.standard[i]);
  }
  return status;
}

const char *cc_format_exit(int code, char room[CC_EXIT_TEXT_SIZE]) {
  snprintf(room, CC_EXIT_TEXT_SIZE, "%s %d", code > 256 ? "signal" : "exit code",
           code > 256 ? code - 256 : code);
  return room;
}

const char *cc_last_line(kdl_arena *arena, kdl_string text) {
  size_t end = text.length;
  while (end && strchr(" \t\r\n", text.data[end - 1]))
    --end;
  size_t start = end;
  while (start && text.data[start - 1] != '\n')
    --start;
  return xarena_string(arena, text.data + start, end - start).data;
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

kdl_status cc_folder_create(kdl_arena *arena, const char *output, const char **out_path) {
  const char *base = kdl_environment(KDL_VARIABLE_TMPDIR);
  char *path = output ? xasprintf("%s.temps", output)
                      : xasprintf("%s/kdl-cc-XXXXXX", base && *base ? base : "/tmp");
  bool is_made = output ? mkdir(path, 0777) == 0 || errno == EEXIST : temp_folder_create(path);
  kdl_status status =
      is_made ? KDL_OK
              : kdl_fail(output ? KDL_IO : kdl_status_from_errno(errno),
                         "%s: cannot make a folder for temporary files: %s", path, strerror(errno));
  *out_path = xarena_format(arena, "%s", path);
  free(path);
  return status;
}

kdl_status cc_read_text_file(kdl_arena *arena, const char *path, kdl_string *out_text) {
  cli_bytes bytes = {.size = 0};
  if (access(path, F_OK) == 0)
    KDL_TRY(cli_bytes_read(path, &bytes));
  *out_text = xarena_string(arena, bytes.data ? bytes.data : "", bytes.size);
  cli_bytes_free(&bytes);
  return KDL_OK;
}
