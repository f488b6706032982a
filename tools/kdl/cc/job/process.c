/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/process.h"

#include "base/error.h"
#include "cli/input.h"
#include "system/process.h"

#include <dirent.h>
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

enum { most_running = 512 };

/* Those that are running; 0 for none. A number leaves before its program is reaped, so that it is
 * no other's while it is here. */
static _Atomic(pid_t) running[most_running];

static void enter(pid_t child) {
  for (size_t i = 0; i < most_running; ++i) {
    pid_t none = 0;
    if (atomic_compare_exchange_strong(&running[i], &none, child))
      return;
  }
}

static void leave(pid_t child) {
  for (size_t i = 0; i < most_running; ++i) {
    pid_t number = child;
    if (atomic_compare_exchange_strong(&running[i], &number, 0))
      return;
  }
}

void cc_run_stop(void) {
  for (size_t i = 0; i < most_running; ++i) {
    pid_t child = atomic_load(&running[i]);
    if (child)
      kill(child, SIGTERM);
  }
}

static kdl_status wait_for(pid_t child, const char *program, int *out_code) {
  siginfo_t ended;
  int state;
  while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    continue;
  leave(child);
  int failure = kdl_process_wait(child, &state);
  if (failure)
    return kdl_fail(KDL_IO, "%s: cannot wait for it: %s", program, strerror(failure));
  *out_code = WIFEXITED(state) ? WEXITSTATUS(state) : 256 + WTERMSIG(state);
  return KDL_OK;
}

/* What takes a stream of the program's: a file, or memory. */
static bool open_stream(const char *path, int *out_fd) {
  *out_fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                 : memfd_create("kdl-cc", MFD_CLOEXEC);
  return *out_fd >= 0;
}

static kdl_status read_stream(kdl_arena *arena, int fd, kdl_string *out_text) {
  struct stat info;
  size_t size = fstat(fd, &info) == 0 ? (size_t)info.st_size : 0, at = 0;
  char *text = kdl_arena_alloc(arena, size + 1);
  if (!text)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for %zu bytes of messages", size);
  for (ssize_t got = 1; at < size && got > 0; at += got > 0 ? (size_t)got : 0)
    got = pread(fd, text + at, size - at, (off_t)at);
  text[at] = '\0';
  *out_text = (kdl_string){text, at};
  return KDL_OK;
}

static void close_stream(int fd) {
  if (fd >= 0)
    close(fd);
}

kdl_status cc_run(kdl_arena *arena, const kdl_words *words, const char *out_path,
                  cc_ended *out_ended) {
  *out_ended = (cc_ended){.answer = {"", 0}, .messages = {"", 0}};
  if (words->failed)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a command line");
  pid_t child;
  kdl_process process = {
      .path = words->items[0], .arguments = words->items, .standard = {-1, -1, -1}};
  int *out = &process.standard[STDOUT_FILENO], *messages = &process.standard[STDERR_FILENO];
  int failure = open_stream(out_path, out) && open_stream(NULL, messages)
                    ? kdl_process_start(&process, &child)
                    : errno;
  kdl_status status = KDL_OK;
  if (failure)
    status = kdl_fail(KDL_IO, "%s: cannot be started: %s", words->items[0], strerror(failure));
  else
    enter(child);
  if (status == KDL_OK)
    status = wait_for(child, words->items[0], &out_ended->code);
  if (status == KDL_OK && !out_path)
    status = read_stream(arena, *out, &out_ended->answer);
  if (status == KDL_OK)
    status = read_stream(arena, *messages, &out_ended->messages);
  close_stream(*out);
  close_stream(*messages);
  return status;
}

const char *cc_end_words(int code, char room[CC_END_ROOM]) {
  snprintf(room, CC_END_ROOM, "%s %d", code > 256 ? "signal" : "exit code",
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
  const char *line = kdl_arena_string(arena, text.data + start, end - start).data;
  return line ? line : "";
}

static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

const char *cc_find_program(kdl_arena *arena, const char *name) {
  if (strchr(name, '/'))
    return is_program(name) ? kdl_arena_format(arena, "%s", name) : NULL;
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    const char *candidate = length ? kdl_arena_format(arena, "%.*s/%s", (int)length, path, name)
                                   : kdl_arena_format(arena, "./%s", name);
    if (candidate && is_program(candidate))
      return candidate;
    path += length + (path[length] == ':');
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static kdl_status create_beside(kdl_arena *arena, const char *output, const char **out_path) {
  const char *path = kdl_arena_format(arena, "%s.temps", output);
  if (!path)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the name of a folder");
  if (mkdir(path, 0777) != 0 && errno != EEXIST)
    return kdl_fail(KDL_IO, "%s: cannot make a folder for temporary files: %s", path,
                    strerror(errno));
  *out_path = path;
  return KDL_OK;
}

kdl_status cc_folder_create(kdl_arena *arena, const char *output, const char **out_path) {
  if (output)
    return create_beside(arena, output, out_path);
  const char *base = getenv("TMPDIR");
  char *path = NULL;
  if (asprintf(&path, "%s/kdl-cc-XXXXXX", base && *base ? base : "/tmp") < 0)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the name of a folder");
  const char *made = mkdtemp(path);
  *out_path = made ? kdl_arena_format(arena, "%s", made) : NULL;
  kdl_status status = KDL_OK;
  if (!made)
    status = kdl_fail(kdl_status_of(errno), "%s: cannot make a folder for temporary files: %s",
                      path, strerror(errno));
  else if (!*out_path)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for the name of a folder");
  free(path);
  return status;
}

void cc_folder_remove(const char *path) {
  DIR *folder = opendir(path);
  int fd = folder ? dirfd(folder) : -1;
  const struct dirent *entry;
  while (fd >= 0 && (entry = readdir(folder))) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(fd, entry->d_name, 0);
  }
  if (folder)
    closedir(folder);
  rmdir(path);
}

kdl_status cc_text_read(kdl_arena *arena, const char *path, kdl_string *out_text) {
  cli_bytes bytes = {.size = 0};
  if (access(path, F_OK) == 0)
    KDL_TRY(cli_bytes_read(path, &bytes));
  *out_text = kdl_arena_string(arena, bytes.data ? bytes.data : "", bytes.size);
  cli_bytes_free(&bytes);
  return out_text->data ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", path);
}
