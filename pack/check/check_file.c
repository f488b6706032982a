/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads one file: decides by its first bytes, and evaluates its contents. */
#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "pack/check/check.h"
#include "pack/thin/file_kinds.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/variables.h"
#include "tools/common/guard.h"
#include "tools/common/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Results                                                                                      */

void *check_alloc(check *c, size_t size) {
  pthread_mutex_lock(&c->lock);
  void *room = xarena_alloc(&c->arena, size);
  pthread_mutex_unlock(&c->lock);
  return room;
}

const char *check_copy_substring(check *c, const char *text, size_t length) {
  char *copy = check_alloc(c, length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

const char *check_copy_string(check *c, const char *text) {
  return check_copy_substring(c, text, strlen(text));
}

/* Appends an item to one of the check's lists. */
static void check_list_append(check *c, void **items, size_t *count, size_t *capacity,
                              const void *item, size_t size) {
  pthread_mutex_lock(&c->lock);
  *items = xgrow(*items, *count, capacity, 64, size);
  memcpy((char *)*items + (*count)++ * size, item, size);
  pthread_mutex_unlock(&c->lock);
}

static void set_incomplete(check *c) {
  pthread_mutex_lock(&c->lock);
  c->is_incomplete = true;
  pthread_mutex_unlock(&c->lock);
}

static _Thread_local bool had_error, had_library; /* for the file that this thread reads */

void check_add_error(check *c, const char *path, const char *message) {
  had_error = true;
  if (cli_guard_was_hit()) /* check_read_file reports the complete file */
    return;
  kdl_status status = message ? KDL_OK : kdl_error_status();
  if (status == KDL_NO_MEMORY || status == KDL_IO) /* not the file's fault */
    set_incomplete(c);
  check_error error = {check_copy_string(c, path),
                       check_copy_string(c, message ? message : kdl_error_message())};
  check_list_append(c, (void **)&c->errors, &c->error_count, &c->error_capacity, &error,
                    sizeof error);
}

void check_add_errno(check *c, const char *path, int reason) {
  if (reason == ENOMEM)
    set_incomplete(c);
  check_add_error(c, path, strerror(reason));
}

void check_add_dist_info(check *c, const char *path) {
  path = check_copy_string(c, path);
  check_list_append(c, (void **)&c->dist_infos, &c->dist_info_count, &c->dist_info_capacity, &path,
                    sizeof path);
}

void check_add_library(check *c, const check_library *library) {
  had_library = true;
  check_list_append(c, (void **)&c->libraries, &c->library_count, &c->library_capacity, library,
                    sizeof *library);
}

/* ------------------------------------------------------------------------------------------ */
/* Kinds of file                                                                                */

bool check_may_have_device_code(const void *head, size_t size) {
  kdl_image_kind kind;
  kdl_file_kind file = kdl_file_sniff(head, size, &kind);
  return file != KDL_FILE_UNKNOWN && file != KDL_FILE_ZIP;
}

void check_note_kind(check_file *file, const void *head, size_t size) {
  enum { elf_type = 16, shared = 3 };
  kdl_image_kind kind = kdl_image_sniff(head, size);
  file->is_bare_device_code = kind != KDL_IMAGE_UNKNOWN && kind != KDL_IMAGE_OBJECT;
  file->is_shared_object = kind == KDL_IMAGE_OBJECT && size >= elf_type + 2 &&
                           kdl_load_u16((const uint8_t *)head + elf_type) == shared;
}

static bool ends_with_any(const char *path, const char *const *ends) {
  while (*ends && !kdl_text_has_suffix(kdl_text_of(path), kdl_text_of(*ends)))
    ++ends;
  return *ends != NULL;
}

/* In folders, archives must also have the right name. */
static bool may_be_archive(const check_file *file) {
  static const char *const names[] = {".whl", ".zip", ".pt2", ".egg", ".tar", NULL};
  return file->is_operand || ends_with_any(file->path, names);
}

static bool is_zip(const uint8_t *head, size_t size) {
  kdl_image_kind kind;
  return kdl_file_sniff(head, size, &kind) == KDL_FILE_ZIP;
}

static bool is_tar(const uint8_t *head, size_t size) {
  return size >= 262 && memcmp(head + 257, "ustar", 5) == 0;
}

/* The program that decompresses it, or NULL. */
static const char *tar_decompressor(const check_file *file, const uint8_t *head, size_t size) {
  static const char *const names[] = {".tar.gz",  ".tgz",     ".tar.xz", ".txz",
                                      ".tar.zst", ".tar.bz2", ".tbz2",   NULL};
  return ends_with_any(file->path, names) ? check_decompressor_for(head, size) : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Reading                                                                                      */

/* Windows programs are searched too, and most have no device code. */
bool check_is_no_device_code_error(kdl_status status) {
  return status == KDL_BAD_FILE && kdl_error_code() == ENODATA;
}

const char *check_fd_path(const check_file *file, char room[CHECK_FD_PATH_SIZE]) {
  snprintf(room, CHECK_FD_PATH_SIZE, "/proc/self/fd/%d", file->fd);
  return access(room, F_OK) == 0 ? room : file->path;
}

int check_create_temp_file(void) {
  const char *folder = kdl_environment(KDL_VARIABLE_TMPDIR);
  int fd = open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void read_library_file(check *c, const check_file *file) {
  char room[CHECK_FD_PATH_SIZE];
  kdl_library *lib;
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = file->path};
  kdl_status status = kdl_open(check_fd_path(file, room), &opts, &lib);
  if (status == KDL_OK)
    status = check_evaluate(c, lib, file, NULL, NULL);
  if (status != KDL_OK && !check_is_no_device_code_error(status))
    check_add_error(c, file->path, NULL);
}

void check_read_part(check *c, const check_file *file, const char *member, const char *package,
                     uint64_t offset, uint64_t size) {
  char room[CHECK_FD_PATH_SIZE];
  kdl_library *lib;
  char *name = xasprintf("%s!%s", file->path, member);
  check_file part = *file;
  part.part_offset = offset;
  part.part_size = size;
  kdl_status status = kdl_library_open_part(check_fd_path(file, room), name, offset, size, &lib);
  if (status == KDL_OK)
    status = check_evaluate(c, lib, &part, member, package);
  if (status != KDL_OK && !check_is_no_device_code_error(status))
    check_add_error(c, name, NULL);
  free(name);
}

void check_read_member(check *c, const check_file *file, const char *name, const char *package,
                       uint64_t offset, uint64_t size) {
  uint8_t head[KDL_SNIFF_SIZE];
  size_t look = size < sizeof head ? (size_t)size : sizeof head;
  if (pread(file->fd, head, look, (off_t)offset) != (ssize_t)look ||
      !check_may_have_device_code(head, look))
    return;
  check_file member = *file;
  check_note_kind(&member, head, look);
  check_read_part(c, &member, name, package, offset, size);
}

bool check_was_changed(const check_file *file) {
  struct stat now;
  return cli_guard_was_hit() || fstat(file->fd, &now) != 0 || now.st_size != file->info.st_size ||
         now.st_mtim.tv_sec != file->info.st_mtim.tv_sec ||
         now.st_mtim.tv_nsec != file->info.st_mtim.tv_nsec;
}

static void read_opened_file(check *c, check_file *file) {
  enum { head_size = 512 };
  uint8_t head[head_size];
  if (!S_ISREG(file->info.st_mode)) {
    check_add_error(c, file->path, "is no longer a file");
    return;
  }
  if (file->number && (file->info.st_ino != file->number || file->info.st_dev != file->device)) {
    check_add_error(c, file->path, "was replaced since the program mapped it");
    return;
  }
  ssize_t got = pread(file->fd, head, sizeof head, 0);
  size_t size = got > 0 ? (size_t)got : 0;
  const char *unpacker = tar_decompressor(file, head, size);
  const char *package = pack_system_package(head, size);
  if (got < 0) {
    check_add_errno(c, file->path, errno);
  } else if (package) {
    check_add_error(c, file->path, package);
  } else if (may_be_archive(file) && is_zip(head, size)) {
    check_read_zip(c, file);
  } else if (may_be_archive(file) && is_tar(head, size)) {
    check_read_tar(c, file);
  } else if (unpacker) {
    check_read_compressed_tar(c, file, unpacker);
  } else if (size >= 4 && memcmp(head, "KPAK", 4) == 0) {
    check_read_kpack(c, file);
  } else if (check_may_have_device_code(head, size)) {
    check_note_kind(file, head, size);
    read_library_file(c, file);
  }
}

/* Discards the results of a file that changed while it was read. */
static void read_stable_file(check *c, const check_file *file) {
  check_file opened = *file;
  int links = file->is_operand || file->open_path ? 0 : O_NOFOLLOW;
  opened.fd = open(file->open_path ? file->open_path : file->path,
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links);
  if (opened.fd < 0 || fstat(opened.fd, &opened.info) != 0) {
    check_add_errno(c, file->path, errno);
    if (opened.fd >= 0)
      close(opened.fd);
    return;
  }
  cli_guard_begin();
  read_opened_file(c, &opened);
  bool was_changed = check_was_changed(&opened);
  cli_guard_end();
  close(opened.fd);
  if (was_changed) {
    check_add_error(c, file->path, "was changed or became unreadable while it was read");
    set_incomplete(c);
  }
}

/* The file that this thread reads: a part of it, and how much of it was counted. */
static _Thread_local struct {
  uint64_t from, size;
  uint64_t counted;
} part;

void check_begin_part(uint64_t from, uint64_t size) {
  part.from = from;
  part.size = size;
}

/* With the lock held. */
static void show_progress(const check *c) {
  bool is_known = c->is_walked && c->bytes_found; /* how much there is */
  cli_progress_step(is_known ? (double)c->bytes_done / (double)c->bytes_found : -1,
                    "%zu files, %.1f GB", c->files, (double)c->bytes_done / 1e9);
}

void check_within_part(check *c, size_t done, size_t count) {
  uint64_t now = part.from + (uint64_t)((double)part.size * (double)done / (double)count);
  if (now <= part.counted)
    return;
  pthread_mutex_lock(&c->lock);
  c->bytes_done += now - part.counted;
  part.counted = now;
  show_progress(c);
  pthread_mutex_unlock(&c->lock);
}

void check_read_file(check *c, const check_file *file) {
  uint64_t size = (uint64_t)file->info.st_size;
  had_error = had_library = false;
  part.counted = 0;
  check_begin_part(0, size);
  read_stable_file(c, file);
  if (had_error && file->is_operand)
    set_incomplete(c);
  pthread_mutex_lock(&c->lock);
  ++c->files;
  c->files_with_code += had_library;
  c->bytes_done += size > part.counted ? size - part.counted : 0;
  show_progress(c);
  pthread_mutex_unlock(&c->lock);
}
