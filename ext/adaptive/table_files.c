/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The files of the tables. No function here is an error of the program: what cannot be stored is
 * measured again. */
#include "ext/adaptive/table.h"

#include "support/base/error.h"
#include "support/system/cache_settings.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char subfolder[] = "choices", marks_suffix[] = ".marks";
/* Of kdl_mark and their number: versions of libkdl with others have files of their own. */
static const char marks_layout[] = ".2";
enum { file_room = KDL_TABLE_NAME + 16, temporary_room = file_room + 16 };

static int open_folder(const kdl_cache_settings *settings) {
  return kdl_cache_subfolder_open(settings->dir, subfolder, settings->sharing);
}

static int make_folder(const kdl_cache_settings *settings) {
  return kdl_cache_subfolder_make(settings->dir, subfolder, settings->sharing);
}

kdl_status kdl_table_settings(kdl_cache_settings *out_settings) {
  KDL_TRY(kdl_cache_settings_read(out_settings));
  return out_settings->mode == KDL_CACHE_OFF ? kdl_fail(KDL_BAD_CALL, "KDL_CACHE: the cache is off")
                                             : KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

typedef struct {
  char *data;
  size_t size, room;
} buffer;

static bool reserve(buffer *to, size_t more) {
  if (to->size + more <= to->room)
    return true;
  size_t room = to->size + more + 1;
  char *data = realloc(to->data, room);
  if (!data)
    return false;
  to->data = data;
  to->room = room;
  return true;
}

/* Adds the file's bytes, up to the limit; what is not a file of the user is passed over. */
static void read_file(int folder, kdl_cache_sharing sharing, const char *name, buffer *to) {
  struct stat info;
  size_t got = 0;
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      kdl_cache_owner_is_trusted(sharing, info.st_uid) && !(info.st_mode & (S_IWGRP | S_IWOTH)) &&
      info.st_size > 0) {
    const off_t most = (off_t)2 * KDL_TABLE_LIMIT;
    size_t size = info.st_size < most ? (size_t)info.st_size : (size_t)most;
    if (reserve(to, size + 1) && kdl_fd_read(fd, to->data + to->size, size, &got)) {
      to->size += got;
      to->data[to->size++] = '\n';
    }
  }
  close(fd);
}

/* In a shared tier each machine appends to a file of its own, because a network file system may
 * mix what two machines append: NAME.MACHINE. */
static void read_machines(int folder, const char *name, buffer *to) {
  int copy = dup(folder);
  DIR *listing = copy < 0 ? NULL : fdopendir(copy);
  if (!listing && copy >= 0)
    close(copy);
  for (struct dirent *entry; listing && (entry = readdir(listing));) {
    if (kdl_starts_with(entry->d_name, name) &&
        !kdl_text_has_suffix(kdl_text_of(entry->d_name), kdl_text_of(marks_suffix)))
      read_file(folder, KDL_CACHE_LOWER, entry->d_name, to);
  }
  if (listing)
    closedir(listing);
}

char *kdl_table_read(const char *name, size_t *out_size) {
  buffer all = {NULL, 0, 0};
  kdl_cache_settings own;
  kdl_cache_tiers tiers = {.count = 0};
  if (kdl_cache_settings_read(&own) == KDL_OK && own.mode != KDL_CACHE_OFF) {
    int folder = open_folder(&own);
    if (folder >= 0) {
      read_file(folder, own.sharing, name, &all);
      close(folder);
    }
  }
  if (kdl_cache_tiers_read(&tiers) != KDL_OK)
    tiers.count = 0;
  for (size_t i = 0; i < tiers.count; ++i) {
    int folder = open_folder(&tiers.items[i]);
    if (folder >= 0) {
      read_machines(folder, name, &all);
      close(folder);
    }
  }
  *out_size = all.size;
  return all.data;
}

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

static int open_table(int folder, const char *file) {
  return openat(folder, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* One call of write() for all lines: the kernel places it at the end of the file at once. */
static bool append_to(int fd, kdl_string identity, const char *lines, size_t size) {
  struct stat info;
  bool done = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
              info.st_size + (off_t)size <= KDL_TABLE_LIMIT &&
              lseek(fd, 0, SEEK_END) >= 0; /* for the limit on the size of files */
  if (done && info.st_size == 0) {
    char content[KDL_TABLE_LINE], header[KDL_TABLE_LINE + 16];
    snprintf(content, sizeof content, "h 1 %.*s", (int)identity.length, identity.data);
    size_t length = kdl_table_seal(content, header, sizeof header);
    done = length && kdl_fd_write(fd, header, length);
  }
  return done && kdl_fd_write(fd, lines, size);
}

/* Whether another process has replaced or removed the file since. */
static bool is_replaced(int fd) {
  struct stat info;
  return fstat(fd, &info) != 0 || info.st_nlink == 0;
}

void kdl_table_close(kdl_table_file *file) {
  if (file->fd >= 0)
    close(file->fd);
  file->fd = -1;
}

static void machine_name(char out[16]) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  uint32_t hash = 2166136261u;
  for (const char *at = host; *at; ++at)
    hash = (hash ^ (unsigned char)*at) * 16777619u;
  snprintf(out, 16, "%08" PRIx32, hash);
}

/* Opens the file of a folder to append to it; -1: it cannot be. */
static int open_in(const kdl_cache_settings *settings, const char *name) {
  char file[file_room], machine[16] = "";
  int folder = make_folder(settings);
  if (folder < 0)
    return -1;
  bool is_shared = settings->sharing == KDL_CACHE_SHARED;
  if (is_shared)
    machine_name(machine);
  snprintf(file, sizeof file, "%s%s%s", name, is_shared ? "." : "", machine);
  int fd = open_table(folder, file);
  close(folder);
  return fd;
}

/* -1: there is none of the user that has this size. */
static int open_marks(int folder, const char *file, size_t size) {
  struct stat info;
  int fd = openat(folder, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
                  (size_t)info.st_size != size)) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* A new file that has only a temporary name until all its bytes are there; -1: it cannot be. */
static int write_temporary(int folder, const char *name, const void *data, size_t size,
                           char out_temporary[temporary_room]) {
  snprintf(out_temporary, temporary_room, "%s.%d%s", name, (int)gettid(), marks_suffix);
  unlinkat(folder, out_temporary, 0);
  int fd =
      openat(folder, out_temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 || kdl_fd_write(fd, data, size))
    return fd;
  const int reason = errno;
  close(fd);
  unlinkat(folder, out_temporary, 0);
  errno = reason;
  return -1;
}

/* Bytes of 0, written and not reserved: a store into a mapped file on a full disk would end the
 * process. The file does not replace one that another process made meanwhile. */
static void make_marks(int folder, const char *name, const char *file, size_t size) {
  char temporary[temporary_room];
  void *zeros = calloc(1, size);
  int fd = zeros ? write_temporary(folder, name, zeros, size, temporary) : -1;
  struct stat info;
  free(zeros);
  if (fd < 0)
    return;
  bool is_there = fstatat(folder, file, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there || (linkat(folder, temporary, folder, file, 0) != 0 && errno != EEXIST))
    renameat(folder, temporary, folder, file);
  unlinkat(folder, temporary, 0);
  close(fd);
}

int kdl_table_open_marks(const char *name, size_t size, bool creates) {
  kdl_cache_settings own;
  char file[file_room];
  if (kdl_cache_settings_read(&own) != KDL_OK || own.mode != KDL_CACHE_ON)
    return -1;
  snprintf(file, sizeof file, "%s%s%s", name, marks_layout, marks_suffix);
  int folder = creates ? make_folder(&own) : open_folder(&own);
  if (folder < 0)
    return -1;
  int fd = open_marks(folder, file, size);
  if (fd < 0 && creates) {
    make_marks(folder, name, file, size);
    fd = open_marks(folder, file, size);
  }
  close(folder);
  return fd;
}

/* Why the last lines were not stored: errno, or one of those below 0. */
enum { stored_all = 0, table_full = -1, cache_off = -2 };
static atomic_int last_failure = stored_all;

/* Whether the folder is refused, with the reason recorded. */
static bool is_refused(const kdl_cache_settings *own) {
  int folder = open_folder(own);
  if (folder >= 0)
    close(folder);
  return folder < 0 && kdl_error_status() != KDL_NO_MATCH;
}

bool kdl_table_failed(char *out, size_t room) {
  const int failure = atomic_load(&last_failure);
  kdl_cache_settings own;
  if (failure == stored_all)
    return false;
  if (kdl_cache_settings_read(&own) != KDL_OK || (failure == EPERM && is_refused(&own)))
    snprintf(out, room, "%s", kdl_error_message());
  else if (failure == cache_off)
    snprintf(out, room, "KDL_CACHE: the cache is off, or not to be changed");
  else
    snprintf(out, room, "%s/%s: %s", own.dir, subfolder,
             failure == table_full ? "the table is full" : strerror(failure));
  return true;
}

static void note_failure(const char *name) {
  kdl_cache_settings own;
  const int reason = errno;
  const bool is_on = kdl_cache_settings_read(&own) == KDL_OK && own.mode == KDL_CACHE_ON;
  atomic_store(&last_failure, !is_on ? cache_off : reason ? reason : table_full);
  kdl_debug(KDL_DEBUG_SELECT, "%s: measured times were not stored: %s", name,
            reason ? strerror(reason) : "the table is full");
}

static bool append_own(kdl_table_file *file, const char *name, kdl_string identity,
                       const char *lines, size_t size) {
  kdl_cache_settings own;
  if (file->fd >= 0 && is_replaced(file->fd))
    kdl_table_close(file);
  if (file->fd < 0 && !file->is_failed) {
    file->fd = kdl_cache_settings_read(&own) == KDL_OK && own.mode == KDL_CACHE_ON
                   ? open_in(&own, name)
                   : -1;
    file->is_failed = file->fd < 0;
  }
  return file->fd >= 0 && append_to(file->fd, identity, lines, size);
}

bool kdl_table_append(kdl_table_file *file, const char *name, kdl_string identity,
                      const char *lines, size_t size) {
  kdl_cache_tiers tiers = {.count = 0};
  errno = 0;
  bool done = append_own(file, name, identity, lines, size);
  if (!kdl_environment(KDL_VARIABLE_CACHE)) { /* no tiers */
    if (!done)
      note_failure(name);
    return done;
  }
  if (kdl_cache_tiers_read(&tiers) != KDL_OK)
    tiers.count = 0;
  for (size_t i = 0; i < tiers.count; ++i) {
    if (tiers.items[i].sharing != KDL_CACHE_SHARED || tiers.items[i].mode != KDL_CACHE_ON)
      continue;
    int fd = open_in(&tiers.items[i], name);
    done |= fd >= 0 && append_to(fd, identity, lines, size);
    if (fd >= 0)
      close(fd);
  }
  if (!done)
    note_failure(name);
  return done;
}

kdl_status kdl_table_save(const kdl_cache_settings *settings, const char *name, const char *lines,
                          size_t size) {
  char temporary[temporary_room];
  int folder = make_folder(settings);
  if (folder < 0)
    return kdl_error_status();
  int fd = write_temporary(folder, name, lines, size, temporary);
  bool done = fd >= 0 && fsync(fd) == 0 && renameat(folder, temporary, folder, name) == 0;
  kdl_status status = KDL_OK;
  if (!done)
    status = kdl_fail(kdl_status_from_errno(errno), "%s/%s/%s: cannot write: %s", settings->dir,
                      subfolder, name, strerror(errno));
  if (fd >= 0) {
    close(fd);
    unlinkat(folder, temporary, 0);
  }
  close(folder);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* All files                                                                                    */

static bool is_table(const char *name) {
  return kdl_text_has_suffix(kdl_text_of(name), KDL_TEXT(".kdlc"));
}

static int compare_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int select_tables(const struct dirent *entry) {
  return is_table(entry->d_name);
}

static int select_all(const struct dirent *entry) {
  return is_table(entry->d_name) ||
         kdl_text_has_suffix(kdl_text_of(entry->d_name), kdl_text_of(marks_suffix));
}

kdl_status kdl_table_each(const kdl_cache_settings *settings, kdl_table_visit *visit, void *user) {
  struct dirent **names = NULL;
  int folder = open_folder(settings);
  if (folder < 0)
    return kdl_error_status() == KDL_NO_MATCH ? KDL_OK : kdl_error_status();
  int count = scandirat(folder, ".", &names, select_tables, compare_names);
  int stopped = 0;
  for (int i = 0; i < count; ++i) {
    buffer text = {NULL, 0, 0};
    if (!stopped)
      read_file(folder, settings->sharing, names[i]->d_name, &text);
    if (text.data)
      stopped = visit(user, names[i]->d_name, (kdl_string){text.data, text.size});
    free(text.data);
    free(names[i]);
  }
  free(names);
  close(folder);
  return KDL_OK;
}

kdl_status kdl_table_clear(size_t *out_files, uint64_t *out_bytes) {
  kdl_cache_settings own;
  struct dirent **names = NULL;
  *out_files = 0;
  *out_bytes = 0;
  KDL_TRY(kdl_table_settings(&own));
  int folder = open_folder(&own);
  if (folder < 0)
    return kdl_error_status() == KDL_NO_MATCH ? KDL_OK : kdl_error_status();
  int count = scandirat(folder, ".", &names, select_all, compare_names);
  for (int i = 0; i < count; ++i) {
    struct stat info;
    if (fstatat(folder, names[i]->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        unlinkat(folder, names[i]->d_name, 0) == 0 && is_table(names[i]->d_name)) {
      ++*out_files;
      *out_bytes += (uint64_t)info.st_size;
    }
    free(names[i]);
  }
  free(names);
  close(folder);
  return KDL_OK;
}
