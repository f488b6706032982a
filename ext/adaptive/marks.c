/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/adaptive/marks.h"

#include "ext/adaptive/table.h"
#include "support/base/hash.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { marks_size = KDL_MARKS * sizeof(kdl_mark) };

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

static size_t read_text(const char *path, char *out, size_t room) {
  size_t got = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || !kdl_fd_read(fd, out, room - 1, &got))
    got = 0;
  if (fd >= 0)
    close(fd);
  out[got] = '\0';
  return got;
}

/* The boot and the PID namespace; 0 where they are not known, or /proc is of another namespace. */
static uint64_t read_place(uint32_t process) {
  char boot[64], self[32];
  struct stat space;
  size_t length = read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  ssize_t digits = readlink("/proc/self", self, sizeof self - 1);
  if (!length || digits <= 0 || stat("/proc/self/ns/pid", &space) != 0)
    return 0;
  self[digits] = '\0';
  if (strtoul(self, NULL, 10) != process)
    return 0;
  uint64_t hash = kdl_hash_mix(space.st_dev, space.st_ino);
  for (size_t i = 0; i < length; ++i)
    hash = kdl_hash_mix(hash, (unsigned char)boot[i]);
  return hash | 1;
}

/* The field 22 of the line; the second one, a name in parentheses, may have any characters. 0 where
 * there is no such process; UINT64_MAX where it has ended, and its parent does not know yet. */
static uint64_t read_start(uint32_t process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)process);
  read_text(path, text, sizeof text);
  const char *at = strrchr(text, ')');
  if (at && at[1] == ' ' && strchr("ZX", at[2]))
    return UINT64_MAX;
  for (int field = 2; at && field < 22; ++field)
    at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

static kdl_mark_process own_process(void) {
  uint32_t number = (uint32_t)getpid();
  return (kdl_mark_process){number, read_place(number), read_start(number)};
}

static uint64_t seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec;
}

static bool is_there(uint32_t process) {
  return process <= INT32_MAX && (kill((pid_t)process, 0) == 0 || errno == EPERM);
}

/* Processes of another machine, boot or PID namespace cannot be asked for. */
static bool may_run(const kdl_mark *mark, uint32_t process, uint64_t own_place) {
  const uint64_t place = atomic_load_explicit(&mark->place, memory_order_relaxed);
  const uint64_t set = atomic_load_explicit(&mark->seconds, memory_order_relaxed);
  if (!place || place != own_place)
    return seconds_now() < set + KDL_MARK_SECONDS;
  const uint64_t start = atomic_load_explicit(&mark->start, memory_order_relaxed);
  const uint64_t found = read_start(process);
  return is_there(process) && (!start || !found || start == found);
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static void map_file(kdl_marks *marks, const char *name, bool creates) {
  int fd = kdl_table_open_marks(name, marks_size, creates);
  void *at =
      fd >= 0 ? mmap(NULL, marks_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (fd >= 0)
    close(fd);
  marks->self = own_process();
  if (at != MAP_FAILED)
    atomic_store_explicit(&marks->slots, at, memory_order_release);
  else if (creates)
    atomic_store_explicit(&marks->is_failed, true, memory_order_relaxed);
}

static kdl_mark *slots_of(kdl_marks *marks) {
  return atomic_load_explicit(&marks->slots, memory_order_acquire);
}

static bool is_opened(kdl_marks *marks) {
  return slots_of(marks) || atomic_load_explicit(&marks->is_failed, memory_order_relaxed);
}

void kdl_marks_open(kdl_marks *marks, const char *name, bool creates) {
  if (is_opened(marks) || kdl_work_begin(&marks->opening) == KDL_WORK_WAITED)
    return;
  if (!is_opened(marks))
    map_file(marks, name, creates);
  kdl_work_end(&marks->opening);
}

void kdl_marks_close(kdl_marks *marks) {
  if (slots_of(marks))
    munmap(slots_of(marks), marks_size);
  atomic_store_explicit(&marks->slots, NULL, memory_order_relaxed);
}

/* ------------------------------------------------------------------------------------------ */
/* Marks                                                                                        */

static uint32_t check_of(const kdl_mark *mark, uint32_t process) {
  const _Atomic(uint64_t) *members[] = {&mark->class_words[0], &mark->class_words[1],
                                        &mark->variant};
  uint64_t hash = process;
  for (size_t i = 0; i < sizeof members / sizeof *members; ++i)
    hash = kdl_hash_mix(hash, atomic_load_explicit(members[i], memory_order_relaxed));
  return (uint32_t)hash | 1;
}

static void set_member(_Atomic(uint64_t) *member, uint64_t value) {
  atomic_store_explicit(member, value, memory_order_relaxed);
}

kdl_mark *kdl_marks_set(kdl_marks *marks, const kdl_problem_class *key, uint64_t variant) {
  kdl_mark *slots = slots_of(marks);
  if (!slots)
    return NULL;
  const bool is_forked = (uint32_t)getpid() != marks->self.number;
  const kdl_mark_process self = is_forked ? own_process() : marks->self;
  for (size_t i = 0; i < KDL_MARKS; ++i) {
    kdl_mark *mark = &slots[i];
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&mark->process, &none, self.number))
      continue;
    set_member(&mark->place, self.place);
    set_member(&mark->class_words[0], key->words[0]);
    set_member(&mark->class_words[1], key->words[1]);
    set_member(&mark->variant, variant);
    set_member(&mark->start, self.start);
    set_member(&mark->seconds, seconds_now());
    atomic_store_explicit(&mark->check, check_of(mark, self.number), memory_order_release);
    return mark;
  }
  return NULL;
}

void kdl_mark_clear(kdl_mark *mark) {
  atomic_store_explicit(&mark->check, 0, memory_order_relaxed);
  set_member(&mark->place, 0);
  atomic_store_explicit(&mark->process, 0, memory_order_release);
}

kdl_mark *kdl_marks_next(kdl_marks *marks, size_t *at) {
  kdl_mark *slots = slots_of(marks);
  while (slots && *at < KDL_MARKS) {
    kdl_mark *mark = &slots[(*at)++];
    uint32_t process = atomic_load_explicit(&mark->process, memory_order_acquire);
    if (!process)
      continue;
    const uint32_t check = atomic_load_explicit(&mark->check, memory_order_acquire);
    if (check != check_of(mark, process)) { /* being set, or never to be */
      const uint64_t place = atomic_load_explicit(&mark->place, memory_order_relaxed);
      if (place == marks->self.place && !is_there(process))
        kdl_mark_clear(mark);
    } else if (!may_run(mark, process, marks->self.place)) {
      return mark;
    }
  }
  return NULL;
}
