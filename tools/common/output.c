/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/output.h"

#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/system/file.h"
#include "support/system/path_resolve.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static kdl_status write_stdout(const void *data, size_t size) {
  fwrite(data, 1, size, stdout);
  return cli_output_flush();
}

/* ------------------------------------------------------------------------------------------ */
/* Inputs                                                                                       */

static struct {
  size_t count;
  struct {
    dev_t device;
    ino_t inode;
  } *items; /* until the process ends */
} inputs;

void cli_output_protect(const char *const *paths, size_t count) {
  inputs.items = xreallocarray(inputs.items, inputs.count + count + 1, sizeof *inputs.items);
  for (size_t i = 0; i < count; ++i) {
    struct stat info;
    bool is_stdin = strcmp(paths[i], "-") == 0;
    if ((is_stdin ? fstat(STDIN_FILENO, &info) : stat(paths[i], &info)) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    inputs.items[inputs.count].device = info.st_dev;
    inputs.items[inputs.count++].inode = info.st_ino;
  }
}

static kdl_status refuse_input(const char *path, const struct stat *info) {
  for (size_t i = 0; i < inputs.count; ++i) {
    if (inputs.items[i].device == info->st_dev && inputs.items[i].inode == info->st_ino)
      return kdl_fail(KDL_BAD_CALL, "%s: output is also an input: use another file", path);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* What to write: bytes, a writer's output, or what a function writes. */
typedef struct {
  const char *path;
  const void *data;
  size_t size;
  kdl_writer *writer;
  kdl_status (*write)(void *user, int fd);
  void *user;
} content;

static kdl_status write_content(void *user, int fd) {
  const content *what = user;
  if (what->write)
    return what->write(what->user, fd);
  if (what->writer)
    return kdl_writer_write(what->writer, fd, what->path);
  return kdl_fd_write(fd, what->data, what->size) ? KDL_OK : kdl_fd_write_failed(what->path);
}

/* A device or pipe cannot be replaced by a rename, only written to. */
static kdl_status write_through(content *what) {
  int fd;
  struct stat info;
  KDL_TRY(kdl_file_open(what->path, O_WRONLY, &fd));
  if (fstat(fd, &info) != 0 || S_ISREG(info.st_mode)) { /* replaced since it was checked */
    close(fd);
    return kdl_fail(KDL_IO, "%s: cannot write: another file has taken its place", what->path);
  }
  kdl_status status = write_content(what, fd);
  if (close(fd) != 0 && status == KDL_OK)
    status =
        kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", what->path, strerror(errno));
  return status;
}

static kdl_status save_content(content *what) {
  struct stat info;
  bool exists = stat(what->path, &info) == 0;
  if (exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return write_through(what);
  if (exists)
    KDL_TRY(refuse_input(what->path, &info));
  return kdl_file_save_by(what->path, write_content, what);
}

kdl_status cli_output_save(const char *path, const void *data, size_t size) {
  if (strcmp(path, "-") == 0)
    return write_stdout(data, size);
  return save_content(&(content){.path = path, .data = data, .size = size});
}

kdl_status cli_output_save_from(const char *path, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", path, strerror(errno));
  size_t size = (size_t)info.st_size;
  void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  if (data == MAP_FAILED)
    cli_out_of_memory();
  kdl_status status = cli_output_save(path, data ? data : "", size);
  if (data)
    munmap(data, size);
  return status;
}

kdl_status cli_output_capture(const char *path, cli_print *print, void *user) {
  int before = dup(STDOUT_FILENO), fd = memfd_create("kdl-output", MFD_CLOEXEC);
  kdl_status status = KDL_OK;
  if (before < 0 || fd < 0 || fflush(stdout) != 0 || dup2(fd, STDOUT_FILENO) < 0)
    status = kdl_fail(kdl_status_from_errno(errno), "%s: cannot write: %s", path, strerror(errno));
  if (status == KDL_OK) {
    status = print(user);
    if (status == KDL_OK)
      status = cli_output_flush();
    dup2(before, STDOUT_FILENO);
  }
  if (status == KDL_OK)
    status = cli_output_save_from(path, fd);
  if (fd >= 0)
    close(fd);
  if (before >= 0)
    close(before);
  return status;
}

kdl_status cli_output_save_writer(const char *path, kdl_writer *writer) {
  if (strcmp(path, "-") != 0)
    return save_content(&(content){.path = path, .writer = writer});
  KDL_TRY(cli_output_flush());
  return kdl_writer_write(writer, STDOUT_FILENO, "<stdout>");
}

kdl_status cli_output_save_by(const char *path, kdl_status (*write)(void *user, int fd),
                              void *user) {
  if (strcmp(path, "-") != 0)
    return save_content(&(content){.path = path, .write = write, .user = user});
  KDL_TRY(cli_output_flush());
  return write(user, STDOUT_FILENO);
}

kdl_status cli_output_check(const char *path) {
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return kdl_fail(KDL_IO, "%s: cannot write: found a directory, expected a file", path);
  if (strcmp(path, "-") == 0 || (exists && !S_ISREG(info.st_mode)))
    return KDL_OK; /* written directly */
  if (exists)
    KDL_TRY(refuse_input(path, &info));
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  char *folder = length ? xstrndup(path, length) : xstrdup(".");
  kdl_status status = KDL_OK;
  if (access(folder, W_OK | X_OK) != 0)
    status = kdl_fail(kdl_status_from_errno(errno), "%s: cannot create a file there: %s", path,
                      strerror(errno));
  free(folder);
  return status;
}

/* Whether saving to one path would replace what was saved to the other. */
static bool is_same_file(const char *a, const char *b) {
  struct stat info, other;
  kdl_resolved_path to, with;
  if (stat(a, &info) == 0 && !S_ISREG(info.st_mode)) /* /dev/null takes both */
    return false;
  if (kdl_path_resolve(a, &to) != KDL_OK)
    return false;
  bool is_same = false;
  if (kdl_path_resolve(b, &with) == KDL_OK) {
    is_same = fstat(to.folder, &info) == 0 && fstat(with.folder, &other) == 0 &&
              info.st_dev == other.st_dev && info.st_ino == other.st_ino &&
              strcmp(to.name, with.name) == 0;
    kdl_resolved_path_close(&with);
  }
  kdl_resolved_path_close(&to);
  return is_same;
}

static kdl_status check_two_outputs(const cli_args *args, const char *a, const char *b) {
  const char *to = cli_args_value(args, a), *with = cli_args_value(args, b);
  if (!to || (strcmp(to, "-") == 0) != (strcmp(with, "-") == 0))
    return KDL_OK;
  if (strcmp(to, "-") == 0)
    return kdl_fail(KDL_BAD_CALL,
                    "--%s=- and --%s=- both write to standard output: use a file for one", a, b);
  return is_same_file(to, with)
             ? kdl_fail(KDL_BAD_CALL, "--%s and --%s both write %s: use another file for one", a, b,
                        with)
             : KDL_OK;
}

kdl_status cli_output_on_stdout(const cli_args *args, const char *const *options,
                                const char **out_option) {
  const char *found = NULL;
  for (const char *const *option = options; *option; ++option) {
    const char *path = cli_args_value(args, *option);
    for (const char *const *other = options; path && other < option; ++other)
      KDL_TRY(check_two_outputs(args, *other, *option));
    if (path && strcmp(path, "-") == 0)
      found = *option;
  }
  *out_option = found;
  return KDL_OK;
}

kdl_status cli_output_flush(void) {
  bool failed = ferror(stdout);
  if (fflush(stdout) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "<stdout>: cannot write: %s", strerror(errno));
  return failed ? kdl_fail(KDL_IO, "<stdout>: cannot write: earlier error") : KDL_OK;
}
