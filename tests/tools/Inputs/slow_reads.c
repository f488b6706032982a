/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Preloaded: every read of a file at a place takes 25 ms longer. */
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t pread(int fd, void *to, size_t size, off_t offset) {
  static ssize_t (*real)(int, void *, size_t, off_t);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "pread");
  usleep(25000);
  return real(fd, to, size, offset);
}

ssize_t pread64(int fd, void *to, size_t size, off_t offset) {
  return pread(fd, to, size, offset);
}
