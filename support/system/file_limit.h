/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* RLIMIT_FSIZE (ulimit -f): who writes beyond it gets SIGXFSZ, whose default is to kill. */
#ifndef KDL_SUPPORT_SYSTEM_FILE_LIMIT_H
#define KDL_SUPPORT_SYSTEM_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether `size` more bytes, from the position that `whence` names in lseek, are beyond it. */
static inline bool kdl_fd_is_over_limit(int fd, int whence, uint64_t size) {
  struct rlimit limit;
  off_t at = lseek(fd, 0, whence);
  return at >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         (uint64_t)at + size > limit.rlim_cur;
}

#endif
