/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/system/path_resolve.h"

#include "support/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { limit_links = 40 };

typedef struct {
  const char *path; /* as given */
  const char *step; /* for messages: what cannot be done where a folder is missing */
  kdl_resolved_path *to;
  char left[PATH_MAX]; /* what is left of the path */
  int links;
} walk;

static kdl_status fail_resolve(const walk *at, const char *step) {
  return kdl_fail(kdl_status_from_errno(errno), "%s: cannot %s: %s", at->path, step,
                  strerror(errno));
}

static kdl_status fail_too_long(const walk *at) {
  errno = ENAMETOOLONG;
  return fail_resolve(at, "write there");
}

static bool has_foreign_owner(const struct stat *folder, const struct stat *found) {
  return found->st_uid != geteuid() && found->st_uid != folder->st_uid;
}

bool kdl_path_owner_is_trusted(int folder, const struct stat *found) {
  struct stat info;
  return fstat(folder, &info) == 0 &&
         (!(info.st_mode & S_IWOTH) || !has_foreign_owner(&info, found));
}

/* The kernel's may_follow_link. */
static bool may_follow(int folder, const struct stat *link) {
  enum { shared = S_ISVTX | S_IWOTH };
  struct stat info;
  return fstat(folder, &info) == 0 &&
         ((info.st_mode & shared) != shared || !has_foreign_owner(&info, link));
}

/* Starts at the root or in the working folder. */
static kdl_status begin(walk *at) {
  bool is_whole = at->left[0] == '/';
  int folder = open(is_whole ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return fail_resolve(at, "write there");
  if (at->to->folder >= 0)
    close(at->to->folder);
  at->to->folder = folder;
  snprintf(at->to->end, sizeof at->to->end, "%s", is_whole ? "/" : "");
  return KDL_OK;
}

static void enter_folder(walk *at, int folder) {
  close(at->to->folder);
  at->to->folder = folder;
}

/* Appends a component to the end. */
static bool append_component(walk *at, const char *name, const char *behind) {
  size_t used = strlen(at->to->end);
  int length = snprintf(at->to->end + used, PATH_MAX - used, "%s%s", name, behind);
  return used + (size_t)length < PATH_MAX;
}

/* The target of the link is walked next. */
static kdl_status follow_symlink(walk *at, const char *name) {
  char target[PATH_MAX], left[PATH_MAX];
  ssize_t length = readlinkat(at->to->folder, name, target, sizeof target - 1);
  if (length < 0)
    return fail_resolve(at, "write there");
  target[length] = '\0';
  if (++at->links > limit_links) {
    errno = ELOOP;
    return fail_resolve(at, "write there");
  }
  memcpy(left, at->left, sizeof left);
  if (snprintf(at->left, PATH_MAX, "%s%s", target, left) >= PATH_MAX)
    return fail_too_long(at);
  return target[0] == '/' ? begin(at) : KDL_OK;
}

static kdl_status refuse_foreign_file(const walk *at, const char *what, const struct stat *found,
                                      const char *name) {
  return kdl_fail(KDL_IO,
                  "%s: cannot write there: found %s of another user (number %ju) in a folder that "
                  "every user may write to: %s%s",
                  at->path, what, (uintmax_t)found->st_uid, at->to->end, name);
}

/* /proc/self/fd/5 leads to the open file, whatever readlink returns. */
static bool is_procfs(int folder) {
  struct statfs info;
  return fstatfs(folder, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

/* A component before the last: a '/' and more follow. */
static kdl_status resolve_folder(walk *at, const char *name) {
  struct stat found;
  int here = at->to->folder;
  if (fstatat(here, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_resolve(at, at->step);
  if (S_ISLNK(found.st_mode) && !is_procfs(here))
    return may_follow(here, &found) ? follow_symlink(at, name)
                                    : refuse_foreign_file(at, "a link", &found, name);
  int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (S_ISLNK(found.st_mode) ? 0 : O_NOFOLLOW);
  int folder = openat(here, name, flags);
  if (folder < 0)
    return fail_resolve(at, at->step);
  enter_folder(at, folder);
  return append_component(at, name, "/") ? KDL_OK : fail_too_long(at);
}

/* The last component: sets *out_done where it is not a link. */
static kdl_status resolve_last(walk *at, const char *name, bool *out_done) {
  struct stat found;
  bool is_there = fstatat(at->to->folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  bool leads_on = is_there && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
  if (leads_on && !kdl_path_owner_is_trusted(at->to->folder, &found))
    return refuse_foreign_file(at, "a link, pipe or the like", &found, name);
  if (is_there && S_ISLNK(found.st_mode)) {
    at->to->has_links = true;
    return follow_symlink(at, name);
  }
  *out_done = true;
  size_t before = strlen(at->to->end);
  at->to->name = at->to->end + before;
  return append_component(at, name, "") ? KDL_OK : fail_too_long(at);
}

/* Takes the next component off `left`: false for the last one. */
static bool next_component(walk *at, char name[PATH_MAX]) {
  size_t begin = strspn(at->left, "/"), length = strcspn(at->left + begin, "/");
  snprintf(name, PATH_MAX, "%.*s", (int)length, at->left + begin);
  const char *behind = at->left + begin + length;
  bool is_folder = *behind == '/';
  memmove(at->left, behind, strlen(behind) + 1);
  if (length == 0) /* of "folder/" */
    snprintf(name, PATH_MAX, "%s", ".");
  return is_folder;
}

kdl_status kdl_path_resolve_for(const char *path, const char *shown, const char *step,
                                kdl_resolved_path *out_resolved) {
  walk at = {.path = shown, .step = step, .to = out_resolved};
  *out_resolved = (kdl_resolved_path){.folder = -1};
  if (snprintf(at.left, sizeof at.left, "%s", path) >= PATH_MAX)
    return fail_too_long(&at);
  kdl_status status = *path ? begin(&at) : (errno = ENOENT, fail_resolve(&at, "write there"));
  for (bool done = false; status == KDL_OK && !done;) {
    char name[PATH_MAX];
    status = next_component(&at, name) ? resolve_folder(&at, name) : resolve_last(&at, name, &done);
  }
  if (status != KDL_OK)
    kdl_resolved_path_close(out_resolved);
  return status;
}

kdl_status kdl_path_resolve(const char *path, kdl_resolved_path *out_resolved) {
  return kdl_path_resolve_for(path, path, "create a file there", out_resolved);
}

void kdl_resolved_path_close(kdl_resolved_path *resolved) {
  if (resolved->folder >= 0)
    close(resolved->folder);
  resolved->folder = -1;
}
