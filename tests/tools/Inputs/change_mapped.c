/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Preloaded: a file whose name has "shrinks" in it is cut to one page when it is mapped, or, where
 * it is smaller, to nothing; one with "grows" is written to; one with "replaced" makes room for the
 * file of that name and ".new". */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void change(int fd, size_t size) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0)
    return;
  path[length] = '\0';
  if (strstr(path, "shrinks") && truncate(path, size > 4096 ? 4096 : 0) != 0)
    perror(path);
  char other[sizeof path + 4];
  snprintf(other, sizeof other, "%s.new", path);
  if (strstr(path, "replaced") && access(other, F_OK) == 0 && rename(other, path) != 0)
    perror(path);
  FILE *file = strstr(path, "grows") ? fopen(path, "a") : NULL;
  if (file) {
    fputc(0, file);
    fclose(file);
  }
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "mmap");
  void *mapping = real(at, size, access, flags, fd, offset);
  if (fd >= 0)
    change(fd, size);
  return mapping;
}

void *mmap64(void *at, size_t size, int access, int flags, int fd, off_t offset) {
  return mmap(at, size, access, flags, fd, offset);
}
