/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "system/memory_file.h"

#include "base/error.h"
#include "system/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Since Linux 6.3 a system can refuse memory files that do not say whether they are code. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int kdl_memory_file_make(const char *name, kdl_memory_file_use use, const void *data, size_t size) {
  static const unsigned flags[] = {
      [KDL_MEMORY_FILE_DATA] = MFD_CLOEXEC | MFD_NOEXEC_SEAL,
      [KDL_MEMORY_FILE_CODE] = MFD_CLOEXEC | MFD_EXEC,
      [KDL_MEMORY_FILE_INHERITED] = 0,
  };
  int fd = memfd_create(name, flags[use]);
  if (fd < 0 && errno == EINVAL) /* an older kernel */
    fd = memfd_create(name, flags[use] & MFD_CLOEXEC);
  if (fd < 0 || kdl_fd_write(fd, data, size))
    return fd;
  int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

kdl_status kdl_memory_file_read(int fd, const char *writer, uint64_t most, void **out_data,
                                size_t *out_size) {
  struct stat info;
  if (fstat(fd, &info) != 0)
    return kdl_fail_code(KDL_IO, errno, "cannot read what %s wrote: %s", writer, strerror(errno));
  if ((uint64_t)info.st_size > most)
    return kdl_fail_code(KDL_NO_MEMORY, EFBIG, "%s wrote more than %" PRIu64 " bytes", writer,
                         most);
  size_t size = (size_t)info.st_size;
  size_t have = 0;
  char *data = malloc(size + 1);
  if (!data || lseek(fd, 0, SEEK_SET) != 0 || !kdl_fd_read(fd, data, size, &have) || have < size) {
    free(data);
    return kdl_fail(KDL_NO_MEMORY, "cannot read the %zu bytes that %s wrote", size, writer);
  }
  data[size] = '\0';
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}
