/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host part: the file with zeros in place of its images. */
#include "pack/split/split.h"

#include "support/base/error.h"
#include "support/system/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void add_zeros(kdl_blake2b *hash, uint64_t size) {
  static const uint8_t zeros[1 << 16];
  while (size) {
    size_t step = size < sizeof zeros ? (size_t)size : sizeof zeros;
    kdl_blake2b_add(hash, zeros, step);
    size -= step;
  }
}

kdl_digest split_host_digest(const cli_bytes *bytes, const split_plan *plan) {
  kdl_blake2b hash;
  uint64_t at = 0;
  kdl_blake2b_start(&hash);
  for (size_t i = 0; i < plan->unit_count; ++i) {
    const split_unit *unit = &plan->units[i];
    kdl_blake2b_add(&hash, (const uint8_t *)bytes->data + at, (size_t)(unit->at - at));
    add_zeros(&hash, unit->size);
    at = unit->at + unit->size;
  }
  kdl_blake2b_add(&hash, (const uint8_t *)bytes->data + at, (size_t)(bytes->size - at));
  return kdl_blake2b_finish(&hash);
}

typedef struct {
  const cli_bytes *bytes;
  const split_plan *plan;
  const char *path;
} host_part;

static kdl_status write_range(const host_part *what, int fd, uint64_t from, uint64_t to) {
  if (lseek(fd, (off_t)from, SEEK_SET) < 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot seek: %s", what->path,
                    strerror(errno));
  return kdl_fd_write(fd, (const uint8_t *)what->bytes->data + from, (size_t)(to - from))
             ? KDL_OK
             : kdl_fd_write_failed(what->path);
}

static kdl_status write_host(void *user, int fd) {
  const host_part *what = user;
  uint64_t at = 0;
  for (size_t i = 0; i < what->plan->unit_count; ++i) {
    KDL_TRY(write_range(what, fd, at, what->plan->units[i].at));
    at = what->plan->units[i].at + what->plan->units[i].size;
  }
  KDL_TRY(write_range(what, fd, at, what->bytes->size));
  if (ftruncate(fd, (off_t)what->bytes->size) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "%s: cannot set its length: %s", what->path,
                    strerror(errno));
  return KDL_OK;
}

kdl_status split_host_save(const cli_bytes *bytes, const split_plan *plan, const char *path) {
  return kdl_file_save_by(path, write_host, &(host_part){bytes, plan, path});
}
