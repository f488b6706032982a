/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "output.h"

#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kdl_status write_stdout(const void *data, size_t size) {
  fwrite(data, 1, size, stdout);
  return cli_output_flush();
}

/* A device or pipe cannot be replaced by a renamed file, only written to. */
static kdl_status write_through(const char *path, const void *data, size_t size) {
  int fd;
  struct stat info;
  kdl_status status = kdl_file_open(path, O_WRONLY, &fd);
  if (status != KDL_OK)
    return status;
  if (fstat(fd, &info) != 0 || S_ISREG(info.st_mode)) { /* it was none of these a moment ago */
    close(fd);
    return kdl_fail(KDL_IO, "%s: cannot write: another file has taken its place", path);
  }
  bool is_whole = kdl_fd_write(fd, data, size);
  int reason = errno;
  if (close(fd) != 0 && is_whole) {
    is_whole = false;
    reason = errno;
  }
  return is_whole ? KDL_OK : kdl_fail(KDL_IO, "%s: cannot write: %s", path, strerror(reason));
}

kdl_status cli_output_save(const char *path, const void *data, size_t size) {
  if (strcmp(path, "-") == 0)
    return write_stdout(data, size);
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return write_through(path, data, size);
  return kdl_file_save(path, data, size);
}

kdl_status cli_output_check(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    return kdl_fail(KDL_IO, "%s: cannot write: found a directory, expected a file", path);
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  char *folder = length ? strndup(path, length) : strdup(".");
  if (!folder)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  kdl_status status = KDL_OK;
  if (access(folder, W_OK | X_OK) != 0)
    status = kdl_fail(KDL_IO, "%s: cannot create a file there: %s", path, strerror(errno));
  free(folder);
  return status;
}

kdl_status cli_output_save_writer(const char *path, kdl_writer *writer) {
  void *data;
  size_t size;
  kdl_status status = kdl_writer_finish(writer, &data, &size);
  if (status != KDL_OK)
    return status;
  status = cli_output_save(path, data, size);
  free(data);
  return status;
}

kdl_status cli_output_on_stdout(const cli_args *args, const char *const *options,
                                const char **out_option) {
  const char *found = NULL;
  for (; *options; ++options) {
    const char *path = cli_args_value(args, *options);
    if (!path || strcmp(path, "-") != 0)
      continue;
    if (found)
      return kdl_fail(KDL_BAD_CALL,
                      "found --%s=- and --%s=-, expected one of them: standard output is one file",
                      found, *options);
    found = *options;
  }
  *out_option = found;
  return KDL_OK;
}

kdl_status cli_output_flush(void) {
  bool failed = ferror(stdout);
  if (fflush(stdout) != 0)
    return kdl_fail(KDL_IO, "<stdout>: cannot write: %s", strerror(errno));
  return failed ? kdl_fail(KDL_IO, "<stdout>: cannot write: earlier error") : KDL_OK;
}
