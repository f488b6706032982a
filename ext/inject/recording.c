/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/inject/recording.h"

#include "support/base/cancel.h"
#include "support/system/file.h"
#include "support/system/variables.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { line_room = 8192, counts_size = KDL_RECORDING_KERNELS * sizeof(uint64_t) };

typedef struct {
  char *name; /* NULL: free */
  uint32_t slot;
} known_kernel;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static char stem[PATH_MAX + 32]; /* FOLDER/PID-N; "" before the first line and after a fork */
static kdl_launch_count no_counts[KDL_RECORDING_FIRST];
static kdl_launch_count *counts = no_counts;
static known_kernel known[KDL_RECORDING_KERNELS * 2];
static uint32_t next_slot = KDL_RECORDING_FIRST;
atomic_uint kdl_record_generation;

/* ------------------------------------------------------------------------------------------ */
/* The files                                                                                    */

static bool append(const char *data, size_t size) {
  char path[sizeof stem + 8];
  snprintf(path, sizeof path, "%s.log", stem);
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool has_room = fd >= 0 && !kdl_fd_is_over_limit(fd, SEEK_END, size);
  while (has_room && size) {
    ssize_t written = write(fd, data, size);
    if (written <= 0)
      break;
    data += written;
    size -= (size_t)written;
  }
  if (fd >= 0)
    close(fd);
  if (size)
    atomic_fetch_add(&counts[KDL_RECORDING_LOST], 1);
  return !size;
}

static bool append_kernel(const known_kernel *kernel) {
  char line[line_room], room[line_room - 64];
  int size = snprintf(line, sizeof line, "kernel\t%u\t%s\n", kernel->slot,
                      kdl_record_text(kernel->name, room, sizeof room));
  return append(line, (size_t)size);
}

static void append_process(void) {
  char program[PATH_MAX], line[PATH_MAX + 64], room[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  int size = snprintf(line, sizeof line, "process\t%d\t%s\n", (int)getpid(),
                      kdl_record_text(program, room, sizeof room));
  append(line, (size_t)size);
}

/* Maps the counters at the address that they have, if they have one: launches of other threads go
 * on meanwhile. */
static bool map_counts(int fd) {
  int flags = counts == no_counts ? MAP_SHARED : MAP_SHARED | MAP_FIXED;
  void *at = counts == no_counts ? NULL : (void *)counts;
  void *mapped = mmap(at, counts_size, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (mapped == MAP_FAILED)
    return false;
  counts = mapped;
  return true;
}

/* Under the lock. Where the folder is gone, as after the end of `kdl trace`, nothing is recorded.
 */
static bool open_recording(void) {
  char path[sizeof stem + 8];
  if (stem[0])
    return true;
  if (!folder[0])
    return false;
  for (int i = 0; i < 1000; ++i) {
    snprintf(stem, sizeof stem, "%s/%d-%d", folder, (int)getpid(), i);
    snprintf(path, sizeof path, "%s.counts", stem);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
      continue;
    /* Allocated: a store into a page for which the disk has no room would end the program. */
    int problem = kdl_fd_is_over_limit(fd, SEEK_SET, counts_size)
                      ? EFBIG
                      : posix_fallocate(fd, 0, counts_size);
    if (!problem && !map_counts(fd))
      problem = errno;
    bool is_mapped = !problem;
    close(fd);
    if (!is_mapped) {
      unlink(path);
      dprintf(STDERR_FILENO, "kdl trace: process %d is not recorded: %s%s\n", (int)getpid(),
              strerror(problem), problem == ENOSPC ? "; use a TMPDIR with more room" : "");
    }
    snprintf(path, sizeof path, "%s.log", stem);
    int log = is_mapped ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (log < 0)
      break;
    close(log);
    append_process();
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
      if (known[k].name) /* of a process that forked */
        append_kernel(&known[k]);
    }
    return true;
  }
  stem[0] = folder[0] = '\0';
  return false;
}

/* The child's launches are not the parent's. It gets a recording of its own with its first line. */
static void begin_child(void) {
  pthread_mutex_init(&lock, NULL);
  stem[0] = '\0';
  if (counts != no_counts && mmap((void *)counts, counts_size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    counts = no_counts;
  atomic_fetch_add(&kdl_record_generation, 1);
}

static void lock_recording(void) {
  pthread_mutex_lock(&lock);
}

static void unlock_recording(void) {
  pthread_mutex_unlock(&lock);
}

bool kdl_recording_start(void) {
  KDL_NOT_CANCELLED;
  const char *given = kdl_environment(KDL_VARIABLE_TRACE_MODULES);
  lock_recording();
  size_t length = given && given[0] == '/' ? strlen(given) : 0;
  bool is_new = !folder[0] && length && length < sizeof folder;
  if (is_new)
    memcpy(folder, given, length + 1);
  bool is_open = open_recording();
  unlock_recording();
  if (is_new && is_open)
    pthread_atfork(lock_recording, unlock_recording, begin_child);
  return is_open;
}

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

void kdl_record_lines(const char *lines, size_t size) {
  KDL_NOT_CANCELLED;
  lock_recording();
  if (open_recording())
    append(lines, size);
  unlock_recording();
}

void kdl_record(const char *format, ...) {
  char line[line_room];
  va_list values;
  va_start(values, format);
  int size = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  size = size < (int)sizeof line - 1 ? size : (int)sizeof line - 2;
  line[size] = '\n';
  kdl_record_lines(line, (size_t)size + 1);
}

const char *kdl_record_text(const char *text, char *room, size_t size) {
  size_t used = 0;
  for (; text && text[used] && used + 1 < size; ++used)
    room[used] = text[used] == '\t' || text[used] == '\n' ? '?' : text[used];
  room[used] = '\0';
  return room;
}

uint64_t kdl_record_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const char *kdl_record_save(const void *data, size_t size, char *room, size_t room_size) {
  static atomic_uint saved;
  KDL_NOT_CANCELLED;
  lock_recording();
  bool is_open = open_recording();
  int used = snprintf(room, room_size, "%s-%u.image", stem, atomic_fetch_add(&saved, 1));
  unlock_recording();
  int fd = is_open && (size_t)used < room_size
               ? open(room, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
               : -1;
  bool is_whole = fd >= 0 && !kdl_fd_is_over_limit(fd, SEEK_SET, size) &&
                  write(fd, data, size) == (ssize_t)size;
  if (fd >= 0)
    close(fd);
  if (!is_whole)
    room[0] = '\0';
  return room;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

static size_t hash_name(const char *name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *name; ++name)
    hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
  return (size_t)(hash ^ hash >> 29);
}

kdl_launch_count *kdl_record_kernel(const char *name) {
  KDL_NOT_CANCELLED;
  size_t mask = sizeof known / sizeof *known - 1, at = hash_name(name) & mask;
  lock_recording();
  while (known[at].name && strcmp(known[at].name, name) != 0)
    at = (at + 1) & mask;
  uint32_t slot = KDL_RECORDING_OTHERS;
  if (open_recording() && known[at].name) {
    slot = known[at].slot;
  } else if (stem[0] && next_slot < KDL_RECORDING_KERNELS) {
    known_kernel kernel = {strdup(name), next_slot};
    if (kernel.name && append_kernel(&kernel)) {
      slot = next_slot++;
      known[at] = kernel;
    } else {
      free(kernel.name);
    }
  }
  unlock_recording();
  return &counts[slot];
}

kdl_launch_count *kdl_record_graphs(void) {
  return &counts[KDL_RECORDING_GRAPHS];
}

/* ------------------------------------------------------------------------------------------ */
/* Addresses                                                                                    */

typedef struct {
  uintptr_t address;
  char *path;
  size_t size;
  uint64_t offset;
} file_search;

static int search_object(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  file_search *search = user;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || search->address < start ||
        search->address - start >= segment->p_filesz)
      continue;
    search->offset = segment->p_offset + (search->address - start);
    const char *name = object->dlpi_name;
    if (!name || !name[0]) {
      ssize_t length = readlink("/proc/self/exe", search->path, search->size - 1);
      search->path[length > 0 ? length : 0] = '\0';
    } else if (name[0] == '/' || !realpath(name, search->path)) {
      snprintf(search->path, search->size, "%s", name);
    }
    return 1;
  }
  return 0;
}

/* dl_iterate_phdr waits for no constructor or driver that another thread is in. */
bool kdl_record_find_file(const void *address, char *out_path, size_t size, uint64_t *out_offset) {
  file_search search = {(uintptr_t)address, out_path, size, 0};
  out_path[0] = '\0';
  bool found = size >= PATH_MAX && dl_iterate_phdr(search_object, &search) != 0;
  *out_offset = search.offset;
  return found;
}
