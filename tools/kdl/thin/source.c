/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "thin/source.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

kdl_status thin_source_open(const char *path, thin_source *out_source) {
  bool is_stdin = strcmp(path, "-") == 0;
  thin_source source = {.path = path, .name = is_stdin ? "<stdin>" : path, .fd = -1};
  kdl_status status;
  if (is_stdin) {
    status = cli_bytes_read(path, &source.bytes);
  } else {
    source.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (source.fd < 0 || fstat(source.fd, &source.info) != 0)
      status = kdl_fail(KDL_IO, "%s: cannot open: %s", path, strerror(errno));
    else
      status = cli_bytes_read_open(path, source.fd, &source.bytes);
    if (source.fd >= 0 && (status != KDL_OK || !S_ISREG(source.info.st_mode))) {
      close(source.fd);
      source.fd = -1;
    }
  }
  if (status == KDL_OK)
    *out_source = source;
  return status;
}

void thin_source_close(thin_source *source) {
  cli_bytes_free(&source->bytes);
  if (source->fd >= 0)
    close(source->fd);
}

bool thin_source_is_replaced(const thin_source *source) {
  struct stat now;
  return source->fd >= 0 && (stat(source->path, &now) != 0 || now.st_dev != source->info.st_dev ||
                             now.st_ino != source->info.st_ino);
}

kdl_status thin_source_check(const thin_source *source, bool is_replaced) {
  struct stat now;
  if (source->fd < 0)
    return KDL_OK;
  const struct stat *then = &source->info;
  if (fstat(source->fd, &now) != 0 || now.st_size != then->st_size ||
      now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
    return kdl_fail(KDL_IO, "%s: the file was changed while it was read; nothing was written",
                    source->name);
  if (is_replaced && thin_source_is_replaced(source))
    return kdl_fail(KDL_IO,
                    "%s: another file has taken its place while it was read; nothing was "
                    "written",
                    source->name);
  return KDL_OK;
}
