/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "program.h"

#include "base/error.h"
#include "base/text.h"
#include "system/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Files                                                                                        */

static bool write_all(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    size -= (size_t)written;
  }
  return true;
}

/* Inherited by children, hence without MFD_CLOEXEC. */
kdl_status ld_file_create(const void *data, size_t size, ld_file *out_file) {
  int fd = memfd_create("kdl-ld", 0);
  if (fd < 0 || !write_all(fd, data, size)) {
    kdl_status status = kdl_fail(KDL_IO, "cannot make a file in memory: %s", strerror(errno));
    if (fd >= 0)
      close(fd);
    return status;
  }
  out_file->fd = fd;
  snprintf(out_file->path, sizeof out_file->path, "/proc/self/fd/%d", fd);
  return KDL_OK;
}

kdl_status ld_file_read(const ld_file *file, void **out_data, size_t *out_size) {
  struct stat info;
  if (fstat(file->fd, &info) != 0)
    return kdl_fail(KDL_IO, "cannot read a file in memory: %s", strerror(errno));
  size_t size = (size_t)info.st_size;
  char *data = malloc(size + 1);
  size_t have = 0;
  while (data && have < size) {
    ssize_t got = pread(file->fd, data + have, size - have, (off_t)have);
    if (got <= 0 && errno != EINTR)
      break;
    have += got > 0 ? (size_t)got : 0;
  }
  if (!data || have < size) {
    free(data);
    return kdl_fail(KDL_IO, "cannot read a file of %zu bytes in memory", size);
  }
  data[size] = '\0';
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

void ld_file_close(ld_file *file) {
  close(file->fd);
}

/* ------------------------------------------------------------------------------------------ */
/* Programs                                                                                     */

static bool find_in(const char *places, const char *name, ld_program *program) {
  for (const char *at = places; at && *at;) {
    size_t length = strcspn(at, ":");
    int used = snprintf(program->path, sizeof program->path, "%.*s/%s", (int)length, at, name);
    if (length && used > 0 && (size_t)used < sizeof program->path &&
        access(program->path, X_OK) == 0)
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

int ld_program_find(const char *variable, const char *const *names, const char *places,
                    ld_program *out_program) {
  const char *given = kdl_environment(variable);
  if (given) {
    snprintf(out_program->path, sizeof out_program->path, "%s", given);
    return access(out_program->path, X_OK) == 0;
  }
  for (; *names; ++names) {
    if (find_in(places, *names, out_program) || find_in(getenv("PATH"), *names, out_program))
      return true;
  }
  return false;
}

/* The first lines that it said, each as a further line of ours. */
static void quote(const char *text, kdl_out *out) {
  for (const char *at = text; *at && out->used < 1024;) {
    size_t length = strcspn(at, "\n");
    if (length)
      kdl_out_format(out, "\n  %.*s", (int)length, at);
    at += length + (at[length] == '\n');
  }
}

static kdl_status tell_failure(const ld_program *program, int state, const ld_file *words) {
  char how[64];
  if (WIFSIGNALED(state))
    snprintf(how, sizeof how, "died of signal %d", WTERMSIG(state));
  else
    snprintf(how, sizeof how, "failed with status %d", WEXITSTATUS(state));
  void *text = NULL;
  size_t size;
  char said[1536] = "";
  if (ld_file_read(words, &text, &size) == KDL_OK)
    quote(text, &(kdl_out){said, sizeof said, 0});
  kdl_status status =
      kdl_fail(KDL_BAD_FILE, "%s %s%s%s", program->path, how, said[0] ? ":" : "", said);
  free(text);
  return status;
}

static kdl_status spawn(const ld_program *program, const char *const *arguments, int out, int err,
                        pid_t *out_child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  int problem =
      posix_spawn(out_child, program->path, &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return problem ? kdl_fail(KDL_IO, "%s: cannot run: %s", program->path, strerror(problem))
                 : KDL_OK;
}

kdl_status ld_program_run(const ld_program *program, const char *const *arguments,
                          const ld_file *stdout_file) {
  ld_file words;
  kdl_status status = ld_file_create("", 0, &words);
  if (status != KDL_OK)
    return status;
  pid_t child;
  int state = 0;
  status = spawn(program, arguments, stdout_file ? stdout_file->fd : words.fd, words.fd, &child);
  if (status == KDL_OK) {
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
      continue;
    if (state != 0)
      status = tell_failure(program, state, &words);
  }
  ld_file_close(&words);
  return status;
}
