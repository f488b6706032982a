/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/marks.h"

#include "ext/adaptive/table.h"
#include "support/base/hash.h"
#include "support/system/file.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { marks_size = KDL_MARKS * sizeof(kdl_mark) };

/* The bytes are written, not reserved: a store into a mapped file on a full disk would end the
 * process. */
static bool fill(int fd) {
  static const char zeros[marks_size];
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
    return false;
  return info.st_size == marks_size || (info.st_size == 0 && kdl_fd_write(fd, zeros, marks_size));
}

void kdl_marks_open(kdl_marks *marks, const char *name, bool creates) {
  if (marks->slots || marks->is_failed)
    return;
  int fd = kdl_table_open_marks(name, creates);
  void *at = fd >= 0 && fill(fd) ? mmap(NULL, marks_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                                 : MAP_FAILED;
  marks->slots = at == MAP_FAILED ? NULL : at;
  marks->is_failed = creates && !marks->slots;
  if (fd >= 0)
    close(fd);
}

void kdl_marks_close(kdl_marks *marks) {
  if (marks->slots)
    munmap(marks->slots, marks_size);
  marks->slots = NULL;
}

static uint32_t check_of(const kdl_mark *mark, uint32_t process) {
  uint64_t hash = kdl_hash_mix(kdl_hash_mix(process, mark->class_words[0]), mark->class_words[1]);
  return (uint32_t)kdl_hash_mix(hash, mark->variant) | 1;
}

kdl_mark *kdl_marks_set(kdl_marks *marks, const kdl_problem_class *key, uint64_t variant) {
  uint32_t process = (uint32_t)getpid();
  for (size_t i = 0; marks->slots && i < KDL_MARKS; ++i) {
    kdl_mark *mark = &marks->slots[i];
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&mark->process, &none, process))
      continue;
    mark->class_words[0] = key->words[0];
    mark->class_words[1] = key->words[1];
    mark->variant = variant;
    atomic_store_explicit(&mark->check, check_of(mark, process), memory_order_release);
    return mark;
  }
  return NULL;
}

void kdl_mark_clear(kdl_mark *mark) {
  atomic_store_explicit(&mark->check, 0, memory_order_relaxed);
  atomic_store_explicit(&mark->process, 0, memory_order_release);
}

static bool is_running(uint32_t process) {
  return process == (uint32_t)getpid() || kill((pid_t)process, 0) == 0 || errno == EPERM;
}

kdl_mark *kdl_marks_next(kdl_marks *marks, size_t *at) {
  while (marks->slots && *at < KDL_MARKS) {
    kdl_mark *mark = &marks->slots[(*at)++];
    uint32_t process = atomic_load(&mark->process);
    if (!process || (process <= INT32_MAX && is_running(process)))
      continue;
    if (atomic_load(&mark->check) == check_of(mark, process))
      return mark;
    kdl_mark_clear(mark);
  }
  return NULL;
}
