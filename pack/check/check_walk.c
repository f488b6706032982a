/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Walks folders. Links are followed only if the user names one: their targets are found where they
 * are, or are outside. A file with several names is read once. Only folders and regular files are
 * opened. */
#include "pack/check/check.h"
#include "support/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* The queue of files                                                                           */

/* The walk runs ahead of the readers, so that the total is known soon. */
enum { queue_size = 4096 };

typedef struct {
  check_file file;
  char *path, *open_path; /* its strings, freed by the reader */
} queued;

typedef struct {
  check *c;
  pthread_mutex_t lock;
  pthread_cond_t has_room, has_files;
  queued files[queue_size];
  size_t first, count;
  bool is_over;
} queue;

static void file_queue_push(queue *q, queued file) {
  pthread_mutex_lock(&q->c->lock);
  q->c->bytes_found += (uint64_t)file.file.info.st_size;
  pthread_mutex_unlock(&q->c->lock);
  pthread_mutex_lock(&q->lock);
  while (q->count == queue_size)
    pthread_cond_wait(&q->has_room, &q->lock);
  q->files[(q->first + q->count++) % queue_size] = file;
  pthread_cond_signal(&q->has_files);
  pthread_mutex_unlock(&q->lock);
}

/* The last file waits for the end of the walk, which tells how much it is of the whole. */
static bool file_queue_pop(queue *q, queued *out_file) {
  pthread_mutex_lock(&q->lock);
  while (q->count < 2 && !q->is_over)
    pthread_cond_wait(&q->has_files, &q->lock);
  bool found = q->count != 0;
  if (found) {
    *out_file = q->files[q->first];
    q->first = (q->first + 1) % queue_size;
    --q->count;
    pthread_cond_signal(&q->has_room);
  }
  pthread_mutex_unlock(&q->lock);
  return found;
}

static void *reader_thread(void *user) {
  queue *q = user;
  queued file;
  while (file_queue_pop(q, &file)) {
    check_read_file(q->c, &file.file);
    free(file.path);
    free(file.open_path);
  }
  return NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Files that were read                                                                         */

typedef struct {
  dev_t device;
  ino_t number;
} inode;

typedef struct {
  inode *slots; /* hash table; number 0: free */
  size_t count, capacity;
} inodes;

static size_t inode_slot(const inodes *set, inode item) {
  size_t at = (size_t)((uint64_t)(item.number ^ item.device << 20) * 0x9e3779b97f4a7c15 >> 20);
  at &= set->capacity - 1;
  while (set->slots[at].number &&
         (set->slots[at].number != item.number || set->slots[at].device != item.device))
    at = (at + 1) & (set->capacity - 1);
  return at;
}

static void grow_inode_set(inodes *set) {
  inodes larger = {.capacity = set->capacity ? set->capacity * 2 : 256, .count = set->count};
  larger.slots = xcalloc(larger.capacity, sizeof *larger.slots);
  for (size_t i = 0; i < set->capacity; ++i) {
    if (set->slots[i].number)
      larger.slots[inode_slot(&larger, set->slots[i])] = set->slots[i];
  }
  free(set->slots);
  *set = larger;
}

static void clear_inode_set(inodes *set) {
  free(set->slots);
  *set = (inodes){NULL, 0, 0};
}

/* True the first time. */
static bool inode_set_insert(inodes *set, const struct stat *info) {
  inode item = {info->st_dev, info->st_ino};
  if (!item.number)
    return true;
  if ((set->count + 1) * 2 > set->capacity)
    grow_inode_set(set);
  size_t at = inode_slot(set, item);
  if (set->slots[at].number)
    return false;
  set->slots[at] = item;
  ++set->count;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

typedef struct {
  char *path;
  dev_t device; /* of the parent folder */
} folder;

typedef struct {
  check *c;
  queue *q;
  inodes seen;
  folder *folders; /* to be walked */
  size_t folder_count, folder_capacity;
  size_t operand;
} walker;

static void add_errno_error(check *c, const char *path) {
  check_add_errno(c, path, errno);
}

/* File systems that show kernel data, not files. */
static bool is_virtual_filesystem(const char *path) {
  static const long types[] = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEVPTS_SUPER_MAGIC,
                               CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
                               TRACEFS_MAGIC,      SECURITYFS_MAGIC,    BPF_FS_MAGIC,
                               EFIVARFS_MAGIC,     PSTOREFS_MAGIC};
  struct statfs about;
  if (statfs(path, &about) != 0)
    return false;
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if ((long)about.f_type == types[i])
      return true;
  }
  return false;
}

static void push_folder(walker *w, char *path, dev_t device) {
  w->folders = xgrow(w->folders, w->folder_count, &w->folder_capacity, 64, sizeof *w->folders);
  w->folders[w->folder_count++] = (folder){path, device};
}

static void visit_folder_entry(walker *w, int at, const folder *in, dev_t device,
                               const char *name) {
  struct stat info;
  kdl_string above = kdl_text_of(in->path);
  char *path =
      xasprintf("%s%s%s", in->path, kdl_text_has_suffix(above, KDL_TEXT("/")) ? "" : "/", name);
  if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    add_errno_error(w->c, path);
  } else if (S_ISDIR(info.st_mode)) {
    if (kdl_text_has_suffix(kdl_text_of(name), KDL_TEXT(".dist-info")))
      check_add_dist_info(w->c, path);
    push_folder(w, path, device);
    return;
  } else if (S_ISREG(info.st_mode) && inode_set_insert(&w->seen, &info)) {
    file_queue_push(w->q,
                    (queued){{.path = path, .operand = w->operand, .info = info}, path, NULL});
    return;
  }
  free(path);
}

static void visit_folder(walker *w, const folder *in) {
  struct stat info;
  DIR *open_folder = opendir(in->path);
  int fd = open_folder ? dirfd(open_folder) : -1;
  if (fd < 0 || fstat(fd, &info) != 0) {
    add_errno_error(w->c, in->path);
  } else if (inode_set_insert(&w->seen, &info) &&
             (info.st_dev == in->device || !is_virtual_filesystem(in->path))) {
    const struct dirent *entry;
    while ((errno = 0, entry = readdir(open_folder))) {
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
        visit_folder_entry(w, fd, in, info.st_dev, entry->d_name);
    }
    if (errno)
      add_errno_error(w->c, in->path);
  }
  if (open_folder)
    closedir(open_folder);
}

static void visit_operand(walker *w, const char *path, bool *out_failed) {
  struct stat info;
  if (stat(path, &info) != 0) {
    add_errno_error(w->c, path);
    *out_failed = true;
  } else if (S_ISDIR(info.st_mode)) {
    push_folder(w, xstrdup(path), 0);
  } else if (!S_ISREG(info.st_mode)) {
    check_add_error(w->c, path, "found a device, pipe or socket, expected a file or a folder");
    *out_failed = true;
  } else if (inode_set_insert(&w->seen, &info)) {
    char *copy = xstrdup(path);
    file_queue_push(
        w->q, (queued){{.path = copy, .operand = w->operand, .is_operand = true, .info = info},
                       copy,
                       NULL});
  }
  while (w->folder_count) {
    folder next = w->folders[--w->folder_count];
    visit_folder(w, &next);
    free(next.path);
  }
}

/* Queues a file that a process has mapped. */
static void queue_mapped_file(void *user, const check_file *file) {
  walker *w = user;
  struct stat info = {.st_dev = file->device, .st_ino = file->number};
  if (!inode_set_insert(&w->seen, &info))
    return;
  queued next = {*file, xstrdup(file->path), file->open_path ? xstrdup(file->open_path) : NULL};
  next.file.path = next.path;
  next.file.open_path = next.open_path;
  file_queue_push(w->q, next);
}

/* ------------------------------------------------------------------------------------------ */

/* As many as there are CPUs and descriptors: each opens a file up to four times. */
static size_t worker_count(const check *c) {
  enum { each = 4, others = 12 };
  struct rlimit limit;
  cpu_set_t set;
  int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CHECK_LIMIT_WORKERS;
  size_t count = cpus > CHECK_LIMIT_WORKERS ? CHECK_LIMIT_WORKERS : (size_t)cpus;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    size_t taken = others + c->kept_count;
    size_t most = limit.rlim_cur > taken ? (size_t)(limit.rlim_cur - taken) / each : 0;
    count = count < most ? count : most;
  }
  return count ? count : 1;
}

void check_walk(check *c, bool *out_failed) {
  queue *q = xcalloc(1, sizeof *q);
  walker w = {.c = c, .q = q};
  pthread_t workers[CHECK_LIMIT_WORKERS];
  size_t started = 0, wanted = worker_count(c);
  *out_failed = false;
  q->c = c;
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->has_room, NULL);
  pthread_cond_init(&q->has_files, NULL);
  while (started < wanted && pthread_create(&workers[started], NULL, reader_thread, q) == 0)
    ++started;
  if (!started)
    cli_out_of_memory();
  for (; w.operand < c->operand_count; ++w.operand) {
    if (c->visit)
      clear_inode_set(&w.seen);
    visit_operand(&w, c->operands[w.operand].display_path, out_failed);
  }
  check_visit_mapped(c, queue_mapped_file, &w);
  pthread_mutex_lock(&c->lock);
  c->is_walked = true;
  pthread_mutex_unlock(&c->lock);
  pthread_mutex_lock(&q->lock);
  q->is_over = true;
  pthread_cond_broadcast(&q->has_files);
  pthread_mutex_unlock(&q->lock);
  for (size_t i = 0; i < started; ++i)
    pthread_join(workers[i], NULL);
  free(w.seen.slots);
  free(w.folders);
  free(q);
}
