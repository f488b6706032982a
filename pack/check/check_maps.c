/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The files that a process has mapped. Each is recorded by its path, if the path still leads to it
 * from here. A file that was deleted or replaced, that has no name, or that is in another mount
 * namespace is opened at once through the process, and stays open until it is read. */
#include "pack/check/check.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A line of /proc/PID/maps. */
typedef struct {
  uint64_t start, end, device, inode;
  bool runs;
  const char *path;
} maps_line;

static const char deleted_suffix[] = " (deleted)";

/* Parses a number and the character that ends it. */
static bool parse_maps_number(char **at, int base, char end, uint64_t *out_number) {
  char *from = *at;
  *out_number = strtoull(from, at, base);
  if (*at == from || **at != end)
    return false;
  ++*at;
  return true;
}

/* "7f8e-7f9e r-xp 00002000 fe:01 1053 /usr/lib/x.so"; false for memory without a file. */
static bool parse_maps_line(char *text, maps_line *out_line) {
  uint64_t offset, major, minor;
  char *at = text;
  *out_line = (maps_line){.start = 0};
  if (!parse_maps_number(&at, 16, '-', &out_line->start) ||
      !parse_maps_number(&at, 16, ' ', &out_line->end))
    return false;
  size_t access = strcspn(at, " ");
  out_line->runs = memchr(at, 'x', access) != NULL;
  at += access;
  if (!parse_maps_number(&at, 16, ' ', &offset) || !parse_maps_number(&at, 16, ':', &major) ||
      !parse_maps_number(&at, 16, ' ', &minor) ||
      !parse_maps_number(&at, 10, ' ', &out_line->inode))
    return false;
  at += strspn(at, " ");
  at[strcspn(at, "\n")] = '\0';
  out_line->device = major << 32 | minor;
  out_line->path = at;
  return out_line->inode != 0 && *at == '/';
}

static check_mapped *find_mapped(const check *c, const maps_line *at) {
  for (size_t i = c->mapped_count; i-- > 0;) { /* lines of one file are adjacent */
    check_mapped *known = &c->mapped[i];
    if (known->map_number == at->inode && known->map_device == at->device &&
        strcmp(known->path, at->path) == 0)
      return known;
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Opening                                                                                      */

/* Each open file takes a descriptor; half of them are reserved for readers. */
static bool has_spare_descriptors(const check *c) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && c->kept_count < limit.rlim_cur / 2;
}

static int open_mapped_file(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* A file that the process still has open, such as a memfd. */
static int open_descriptor(pid_t process, const maps_line *at) {
  char folder[64], path[96], name[PATH_MAX];
  snprintf(folder, sizeof folder, "/proc/%d/fd", (int)process);
  DIR *list = opendir(folder);
  const struct dirent *entry;
  int fd = -1;
  while (fd < 0 && list && (entry = readdir(list))) {
    snprintf(path, sizeof path, "%s/%.16s", folder, entry->d_name);
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length < 0)
      continue;
    name[length] = '\0';
    struct stat info;
    if (strcmp(name, at->path) == 0 && stat(path, &info) == 0 && info.st_ino == at->inode)
      fd = open_mapped_file(path);
  }
  if (list)
    closedir(list);
  return fd;
}

static void keep_descriptor(check *c, check_mapped *file, int fd) {
  if (fd >= 0 && fstat(fd, &file->info) == 0 && S_ISREG(file->info.st_mode)) {
    file->fd = fd;
    ++c->kept_count;
  } else if (fd >= 0) {
    close(fd); /* a device: nothing to read */
    file->is_other = true;
  }
}

static void open_through(check *c, pid_t process, const maps_line *at, check_mapped *file) {
  char path[96];
  if (!has_spare_descriptors(c)) {
    file->reason = EMFILE;
    return;
  }
  /* The kernel's own link to a mapped file, which needs a capability. */
  snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process, at->start,
           at->end);
  int fd = open_mapped_file(path);
  file->reason = errno;
  if (fd < 0)
    fd = open_descriptor(process, at);
  keep_descriptor(c, file, fd);
}

/* Where the path leads from the process's root and from ours. */
static void locate_mapped_file(check *c, pid_t process, const maps_line *at, check_mapped *file) {
  char inside[PATH_MAX + 32];
  struct stat here;
  size_t length = strlen(at->path), tail = sizeof deleted_suffix - 1;
  snprintf(inside, sizeof inside, "/proc/%d/root%s", (int)process, at->path);
  if (stat(inside, &file->info) != 0 &&
      (length <= tail || strcmp(at->path + length - tail, deleted_suffix) != 0) &&
      strstr(at->path, "\\012")) { /* the only byte that the kernel escapes */
    char *from = strchr(inside, '\\');
    for (char *to = from; *to; ++from, ++to) {
      bool is_newline = kdl_starts_with(from, "\\012");
      *to = is_newline ? '\n' : *from;
      from += is_newline ? 3 : 0;
    }
  }
  if (stat(inside, &file->info) != 0) {
    open_through(c, process, at, file);
  } else if (!S_ISREG(file->info.st_mode)) {
    file->is_other = true;
  } else if (stat(strchr(inside + 6, '/') + 5, &here) != 0 || here.st_dev != file->info.st_dev ||
             here.st_ino != file->info.st_ino) {
    c->has_other_root = true;
    file->reason = EMFILE;
    if (has_spare_descriptors(c))
      keep_descriptor(c, file, open_mapped_file(inside));
  }
}

static void add_mapped_file(check *c, pid_t process, const maps_line *at) {
  check_mapped *known = find_mapped(c, at);
  if (known) {
    known->runs |= at->runs;
    return;
  }
  check_mapped file = {.path = check_copy_string(c, at->path),
                       .map_device = at->device,
                       .map_number = at->inode,
                       .runs = at->runs,
                       .fd = -1};
  locate_mapped_file(c, process, at, &file);
  c->mapped = xgrow(c->mapped, c->mapped_count, &c->mapped_capacity, 64, sizeof *c->mapped);
  c->mapped[c->mapped_count++] = file;
}

size_t check_read_maps(check *c, pid_t process, int *out_error) {
  char path[64], *text = NULL;
  size_t capacity = 0, lines = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
  FILE *maps = fopen(path, "re");
  *out_error = maps ? 0 : errno;
  while (maps && (errno = 0, getline(&text, &capacity, maps) > 0)) {
    maps_line at;
    ++lines;
    if (parse_maps_line(text, &at))
      add_mapped_file(c, process, &at);
  }
  if (maps && errno)
    *out_error = errno; /* permission is checked when it is read */
  free(text);
  if (maps)
    fclose(maps);
  return lines;
}

kdl_status check_read_process(check *c, const char *number) {
  char *end;
  errno = 0;
  long process = strtol(number, &end, 10);
  if (errno || *end || end == number || process < 1 || process > INT_MAX)
    return kdl_fail(KDL_BAD_CALL, "--process: bad value '%s': use the number of a process", number);
  int reason;
  size_t lines = check_read_maps(c, (pid_t)process, &reason);
  if (reason == ENOENT || reason == ESRCH)
    return kdl_fail(KDL_IO, "process %ld: there is none", process);
  if (reason)
    return kdl_fail(kdl_status_from_errno(reason), "process %ld: cannot look at what it maps: %s",
                    process, strerror(reason));
  if (!lines)
    return kdl_fail(KDL_IO, "process %ld: it maps nothing: it has ended, or is the kernel's own",
                    process);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

void check_free_mapped(check *c) {
  for (size_t i = 0; i < c->mapped_count; ++i) {
    if (c->mapped[i].fd >= 0)
      close(c->mapped[i].fd);
  }
  free(c->mapped);
}

void check_visit_mapped(check *c, check_visit_file *take, void *user) {
  for (size_t i = 0; i < c->mapped_count; ++i) {
    const check_mapped *file = &c->mapped[i];
    if (file->is_other)
      continue;
    char from[CHECK_FD_PATH_SIZE];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file->fd);
    if (file->fd < 0 && file->reason) { /* non-executable shared memory is not a library */
      if (file->runs)
        check_add_errno(c, file->path, file->reason);
      continue;
    }
    take(user, &(check_file){.path = file->path,
                             .operand = c->operand_count,
                             .open_path = file->fd >= 0 ? from : NULL,
                             .info = file->info,
                             .device = file->info.st_dev,
                             .number = file->info.st_ino});
  }
}
