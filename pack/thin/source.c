/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/thin/source.h"

#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"
#include "tools/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

kdl_status thin_source_open(const char *path, thin_source *out_source) {
  bool is_stdin = strcmp(path, "-") == 0;
  thin_source source = {.path = path, .name = is_stdin ? "<stdin>" : path, .fd = -1};
  kdl_status status;
  if (is_stdin) {
    status = cli_bytes_read(path, &source.bytes);
  } else {
    status = kdl_input_open(path, &source.fd);
    if (status == KDL_OK && fstat(source.fd, &source.info) != 0)
      status = kdl_fail(KDL_IO, "%s: cannot open: %s", path, strerror(errno));
    if (status == KDL_OK)
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

kdl_status thin_source_check(const thin_source *source, bool in_place) {
  struct stat now;
  if (source->fd < 0)
    return KDL_OK;
  const struct stat *then = &source->info;
  if (fstat(source->fd, &now) != 0 || now.st_size != then->st_size ||
      now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
    return kdl_fail(KDL_IO, "%s: the file was changed while it was read; nothing was written",
                    source->name);
  if (in_place && thin_source_is_replaced(source))
    return kdl_fail(KDL_IO,
                    "%s: another file has taken its place while it was read; nothing was "
                    "written",
                    source->name);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

/* As far as the file system and the user's rights allow. */
static void copy_attributes(int from, int to, const char *path) {
  /* Attributes that authenticate the old contents, or were granted to them. */
  static const char *const of_content[] = {"security.ima", "security.evm", "security.capability"};
  char names[16384], value[65536];
  ssize_t length = flistxattr(from, names, sizeof names);
  for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1) {
    const char *name = names + at;
    if (KDL_TEXT_AMONG(kdl_text_of(name), of_content)) {
      cli_note("%s: %s is not kept: it is of the old contents", path, name);
      continue;
    }
    ssize_t size = fgetxattr(from, name, value, sizeof value);
    if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) != 0)
      errno = 0;
  }
}

/* A new file may be read and executed by the users of the old one, restricted by the umask. */
static void copy_mode(const struct stat *old, int to, const char *path) {
  struct stat now, there;
  bool is_new = stat(path, &there) != 0;
  mode_t mask = umask(0);
  umask(mask);
  if (is_new && fstat(to, &now) == 0)
    fchmod(to, (now.st_mode | (0111 & ~mask)) & old->st_mode & 0777);
}

void thin_source_copy_attributes(const thin_source *source, int to, const char *path) {
  if (source->fd < 0)
    return;
  copy_mode(&source->info, to, path);
  copy_attributes(source->fd, to, path);
}

void thin_source_note_links(const thin_source *source) {
  if (source->fd >= 0 && source->info.st_nlink > 1)
    cli_note("%s: %ju more names of the file keep the old one", source->name,
             (uintmax_t)source->info.st_nlink - 1);
}
