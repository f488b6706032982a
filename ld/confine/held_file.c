/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/confine/worker.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "tools/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

kdl_status ld_held_file_make(const char **path, ld_held_file *out_file) {
  out_file->path = NULL;
  if (!*path || kdl_starts_with(*path, "/proc/self/fd/") || kdl_starts_with(*path, "/dev/fd/"))
    return KDL_OK;
  int fd = kdl_memory_file_create("kdl-ld", KDL_MEMORY_FILE_DATA, "", 0);
  if (fd < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot make a file in memory: %s",
                    strerror(errno));
  out_file->path = *path;
  out_file->fd = fd;
  snprintf(out_file->name, sizeof out_file->name, "/proc/self/fd/%d", fd);
  *path = out_file->name;
  return KDL_OK;
}

/* Writes in place: a file that is already open cannot be replaced by a rename. */
kdl_status ld_held_file_write(const char *name, const void *data, size_t size) {
  int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
  bool is_whole = fd >= 0 && kdl_fd_write(fd, data, size);
  int problem = errno;
  if (fd >= 0 && close(fd) != 0 && is_whole) {
    is_whole = false;
    problem = errno;
  }
  return is_whole ? KDL_OK
                  : kdl_fail(kdl_status_from_errno(problem), "%s: cannot write: %s", name,
                             strerror(problem));
}

kdl_status ld_held_file_save(ld_held_file *file) {
  struct stat info;
  kdl_status status = KDL_OK;
  if (file->path && fstat(file->fd, &info) == 0 && info.st_size > 0)
    status = cli_output_save_from(file->path, file->fd);
  ld_held_file_drop(file);
  return status;
}

void ld_held_file_drop(ld_held_file *file) {
  if (file->path)
    close(file->fd);
  file->path = NULL;
}
