/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/claim.h"

#include "ext/jit/cache/store.h"
#include "support/system/file.h"
#include "support/system/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
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

/* ------------------------------------------------------------------------------------------ */
/* Leases                                                                                       */

/* ------------------------------------------------------------------------------------------ */
/* The lease token: "BOOT NAMESPACE PID SALT". If the first two are those of this process, the
 * kernel knows whether the holder still runs. */

static void read_boot_id(char out_boot[40]) {
  size_t got = 0;
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  memcpy(out_boot, "-", 2);
  if (fd < 0)
    return;
  if (kdl_fd_read(fd, out_boot, 36, &got) && got == 36)
    out_boot[36] = '\0';
  else
    memcpy(out_boot, "-", 2);
  close(fd);
}

static bool make_lease_token(char out_token[KDL_CACHE_LEASE_TOKEN_SIZE]) {
  char boot[40];
  struct stat space = {.st_ino = 0};
  uint64_t salt;
  if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
    return false;
  read_boot_id(boot);
  (void)stat("/proc/self/ns/pid", &space);
  snprintf(out_token, KDL_CACHE_LEASE_TOKEN_SIZE, "%s %ju %jd %016" PRIx64, boot,
           (uintmax_t)space.st_ino, (intmax_t)getpid(), salt);
  return true;
}

/* Whether the holder was a process of this machine that has ended. */
static bool holder_has_exited(const char *theirs, const char *ours) {
  const char *space = strchr(ours, ' ');
  const char *pid = space ? strchr(space + 1, ' ') : NULL;
  size_t common = pid ? (size_t)(pid + 1 - ours) : 0;
  if (!pid || ours[0] == '-' || strncmp(theirs, ours, common) != 0)
    return false;
  long holder = strtol(theirs + common, NULL, 10);
  return holder > 0 && kill((pid_t)holder, 0) != 0 && errno == ESRCH;
}

/* ------------------------------------------------------------------------------------------ */
/* The file                                                                                     */

static bool create_lease_file(int folder, const kdl_cache_lease *lease) {
  int fd = openat(folder, lease->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  bool is_written = kdl_fd_write(fd, lease->token, strlen(lease->token)) && fsync(fd) == 0;
  if (close(fd) == 0 && is_written)
    return true;
  int reason = errno;
  unlinkat(folder, lease->name, 0);
  errno = reason;
  return false;
}

/* Empty where the file cannot be read or is not written yet. */
static void read_lease_token(int folder, const char *name,
                             char out_token[KDL_CACHE_LEASE_TOKEN_SIZE]) {
  size_t got = 0;
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) {
    if (!kdl_fd_read(fd, out_token, KDL_CACHE_LEASE_TOKEN_SIZE - 1, &got))
      got = 0;
    close(fd);
  }
  out_token[got] = '\0';
}

/* ------------------------------------------------------------------------------------------ */
/* Waiting                                                                                      */

static int64_t monotonic_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The interval grows: many machines may ask one server. */
static void back_off(int64_t *step) {
  const int64_t longest = 200;
  nanosleep(&(struct timespec){.tv_nsec = (long)*step * 1000000}, NULL);
  *step = *step * 2 < longest ? *step * 2 : longest;
}

static bool wait_for_lease(int folder, int64_t lease_ms, int64_t milliseconds,
                           bool (*is_stored)(void *user), void *user, kdl_cache_lease *lease) {
  char seen[KDL_CACHE_LEASE_TOKEN_SIZE] = "", token[KDL_CACHE_LEASE_TOKEN_SIZE];
  int64_t begin = monotonic_ms(), since = begin, step = 5;
  while (!(lease->is_held = create_lease_file(folder, lease)) && errno == EEXIST) {
    if (is_stored(user))
      return true;
    read_lease_token(folder, lease->name, token);
    int64_t now = monotonic_ms();
    if (strcmp(token, seen) != 0) {
      memcpy(seen, token, sizeof seen);
      since = now;
    }
    if (now - begin >= milliseconds || kdl_subprocess_is_cancelled())
      return false;
    if (now - since >= lease_ms || holder_has_exited(token, lease->token))
      unlinkat(folder, lease->name, 0);
    else
      back_off(&step);
  }
  /* Creating the file made the client ask the server, so an entry that was not visible before may
   * be now. */
  if (!is_stored(user))
    return false;
  kdl_cache_lease_release(lease);
  return true;
}

bool kdl_cache_lease_acquire(const kdl_cache_settings *settings, kdl_string link_key,
                             int64_t lease_ms, int64_t milliseconds, bool (*is_stored)(void *user),
                             void *user, kdl_cache_lease *out_lease) {
  kdl_cache_lease *lease = out_lease;
  lease->is_held = false;
  int folder = kdl_cache_folder_make(settings->dir, settings->sharing);
  if (folder < 0)
    return false;
  memcpy(lease->dir, settings->dir, sizeof lease->dir);
  kdl_cache_name(link_key, ".lease", lease->name);
  bool found = make_lease_token(lease->token) &&
               wait_for_lease(folder, lease_ms, milliseconds, is_stored, user, lease);
  close(folder);
  return found;
}

/* A holder that was taken for dead must not remove its successor's lease. */
void kdl_cache_lease_release(kdl_cache_lease *lease) {
  char token[KDL_CACHE_LEASE_TOKEN_SIZE];
  if (!lease->is_held)
    return;
  lease->is_held = false;
  int folder = kdl_cache_folder_open(lease->dir, KDL_CACHE_SHARED);
  if (folder < 0)
    return;
  read_lease_token(folder, lease->name, token);
  if (strcmp(token, lease->token) == 0)
    unlinkat(folder, lease->name, 0);
  close(folder);
}
