/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/claim.h"

#include "ext/jit/cache/store.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1

static const long local_file_systems[] = {
    EXT4_SUPER_MAGIC, XFS_MAGIC,   BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
    F2FS_SUPER_MAGIC, RAMFS_MAGIC, EROFS_SUPER_MAGIC_V1, OVERLAYFS_SUPER_MAGIC,
    ZFS_MAGIC,
};

static bool has_locks(int folder) {
  struct statfs info;
  if (fstatfs(folder, &info) != 0)
    return false;
  for (size_t i = 0; i < sizeof local_file_systems / sizeof *local_file_systems; ++i) {
    if ((long)info.f_type == local_file_systems[i])
      return true;
  }
  return false;
}

/* Polls the lock: a holder that was stopped must not stop us. */
static bool lock_file(int fd, int64_t milliseconds, bool *out_waited) {
  const int64_t step = 5;
  *out_waited = false;
  for (int64_t left = milliseconds; flock(fd, LOCK_EX | LOCK_NB) != 0; left -= step) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return false;
    if (left <= 0 || kdl_subprocess_is_cancelled())
      return false;
    *out_waited = true;
    nanosleep(&(struct timespec){.tv_nsec = (long)step * 1000000}, NULL);
  }
  return true;
}

kdl_cache_claim kdl_cache_claim_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                                        int64_t milliseconds, bool *out_waited) {
  kdl_cache_claim claim = {.fd = -1};
  *out_waited = false;
  claim.folder = kdl_cache_folder_make(settings->dir, settings->sharing);
  if (claim.folder < 0)
    return claim;
  kdl_cache_name(link_key, ".lock", claim.name);
  if (has_locks(claim.folder))
    claim.fd = openat(claim.folder, claim.name,
                      O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (claim.fd < 0 || !lock_file(claim.fd, milliseconds, out_waited)) {
    if (claim.fd >= 0)
      close(claim.fd);
    close(claim.folder);
    claim = (kdl_cache_claim){.folder = -1, .fd = -1};
  }
  return claim;
}

/* The file is removed while it is locked. A waiter may then lock the removed file while a third
 * process creates a new one: both link, and one does so in vain. */
void kdl_cache_claim_release(kdl_cache_claim *claim) {
  if (claim->folder < 0)
    return;
  unlinkat(claim->folder, claim->name, 0);
  close(claim->fd);
  close(claim->folder);
  claim->folder = -1;
}
