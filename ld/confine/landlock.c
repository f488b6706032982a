/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants of <linux/landlock.h>: the header is usually older than the kernel. */
enum { number_create = 444, number_add = 445, number_restrict = 446 };
enum { create_version = 1, rule_path_beneath = 1 };

enum {
  fs_execute = 1 << 0,
  fs_write_file = 1 << 1,
  fs_read_file = 1 << 2,
  fs_read_dir = 1 << 3,
  fs_truncate = 1 << 14,
};

static const uint64_t fs_first = (1 << 13) - 1; /* all of version 1, including the bits above */
static const uint64_t fs_refer = 1 << 13;       /* from version 2 on */
static const uint64_t fs_ioctl_dev = 1 << 15;   /* from 5 on; truncating from 3 on */
static const uint64_t net_tcp = 3;              /* binding and connecting, from 4 on */
static const uint64_t scope_all = 3;            /* abstract sockets and signals, from 6 on */

typedef struct {
  uint64_t fs;
  uint64_t net;
  uint64_t scoped;
} ruleset_attributes;

typedef struct {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed)) path_attributes;

static uint64_t handled_fs(int version) {
  return fs_first | (version >= 2 ? fs_refer : 0) | (version >= 3 ? fs_truncate : 0) |
         (version >= 5 ? fs_ioctl_dev : 0);
}

ld_landlock ld_landlock_begin(void) {
  ld_landlock made = {.rules = -1};
  long version = syscall(number_create, NULL, 0, create_version);
  if (version < 1) {
    made.problem = version < 0 ? errno : ENOSYS;
    return made;
  }
  made.version = (int)version;
  ruleset_attributes wanted = {.fs = handled_fs(made.version)};
  size_t size = offsetof(ruleset_attributes, net);
  if (made.version >= 4) {
    wanted.net = net_tcp;
    size = offsetof(ruleset_attributes, scoped);
  }
  if (made.version >= 6) {
    wanted.scoped = scope_all;
    size = sizeof wanted;
  }
  made.rules = (int)syscall(number_create, &wanted, size, 0);
  made.problem = made.rules < 0 ? errno : 0;
  return made;
}

void ld_landlock_allow(ld_landlock *landlock, const char *path, ld_landlock_right right) {
  static const uint64_t rights[] = {
      [LD_LANDLOCK_READ] = fs_read_file | fs_read_dir,
      [LD_LANDLOCK_RUN] = fs_read_file | fs_read_dir | fs_execute,
      [LD_LANDLOCK_WRITE] = fs_write_file | fs_truncate,
  };
  static const uint64_t of_files = fs_execute | fs_write_file | fs_read_file | fs_truncate;
  int fd = landlock->rules >= 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
  struct stat info;
  if (fd < 0)
    return;
  if (fstat(fd, &info) == 0) {
    path_attributes rule = {.parent = fd};
    rule.allowed = rights[right] & handled_fs(landlock->version);
    if (!S_ISDIR(info.st_mode))
      rule.allowed &= of_files;
    /* Fails for files that are in no file system, which need no right. */
    syscall(number_add, landlock->rules, rule_path_beneath, &rule, 0);
  }
  close(fd);
}

bool ld_landlock_end(ld_landlock *landlock) {
  if (landlock->rules < 0)
    return false;
  bool is_done = syscall(number_restrict, landlock->rules, 0) == 0;
  landlock->problem = is_done ? 0 : errno;
  close(landlock->rules);
  landlock->rules = -1;
  return is_done;
}
