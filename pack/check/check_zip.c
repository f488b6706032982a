/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads members of zip archives, such as wheels. Stored members are read in place; a deflated one
 * that begins like device code is inflated into an unnamed file. */
#include "lib/inspect/formats.h"
#include "lib/inspect/images.h"
#include "pack/check/check.h"
#include "pack/zip/directory.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* docs/cli.md documents this. */
#define LARGEST_DIRECTORY ((uint64_t)256 << 20)
typedef struct {
  check *c;
  const check_file *file;
  zip_source source;
  uint8_t *directory;
  uint64_t directory_size;
  uint64_t compressed_size;   /* bytes of members so far: more than the file has means overlaps */
  uint64_t uncompressed_size; /* inflated to files so far */
  void *mapping;              /* of the current member, if it is compressed */
  size_t mapping_size;
  char *package;
} zip;

typedef struct {
  zip_entry in; /* the directory */
  char *name;
} entry;

static void add_member_error(const zip *z, const char *member, const char *message) {
  char *path = xasprintf("%s%s%s", z->file->path, *member ? "!" : "", member);
  check_add_error(z->c, path, message);
  free(path);
}

__attribute__((format(printf, 3, 4))) static void damaged(const zip *z, const char *member,
                                                          const char *format, ...) {
  char message[160];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  add_member_error(z, member, message);
}

/* ------------------------------------------------------------------------------------------ */
/* The directory at the end                                                                     */

static bool read_directory(zip *z) {
  zip_end end;
  if (zip_find_end(&z->source, false, &end) != ZIP_END_FOUND) {
    damaged(z, "", "zip: found no end of the directory in %" PRIu64 " bytes", z->source.size);
    return false;
  }
  uint64_t size = end.directory_size;
  if (!kdl_in_range(end.directory, size, z->source.size) || size > LARGEST_DIRECTORY) {
    damaged(z, "", "zip: found a directory of %" PRIu64 " bytes, expected it in the file", size);
    return false;
  }
  z->directory = xmalloc((size_t)size);
  z->directory_size = size;
  if (zip_source_read(&z->source, end.directory, z->directory, (size_t)size))
    return true;
  damaged(z, "", "zip: cannot read the directory of %" PRIu64 " bytes", size);
  return false;
}

/* The entry at *at, which is advanced; false at the end, and where it is damaged. */
static bool next_entry(const zip *z, size_t *at, entry *out_entry) {
  if (zip_read_entry(z->directory + *at, (size_t)z->directory_size - *at, &out_entry->in))
    return false;
  out_entry->name = xstrndup(out_entry->in.name.data, out_entry->in.name.length);
  *at += out_entry->in.size;
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Members                                                                                      */

/* "torch-2.11.0.dist-info/RECORD": torch 2.11.0 */
static void find_package(zip *z) {
  entry e;
  for (size_t at = 0; !z->package && next_entry(z, &at, &e); free(e.name)) {
    const char *end = strstr(e.name, ".dist-info/RECORD");
    if (!end || strchr(e.name, '/') != end + strlen(".dist-info"))
      continue;
    z->package = xstrndup(e.name, (size_t)(end - e.name));
    char *dash = strchr(z->package, '-');
    if (dash)
      *dash = ' ';
  }
}

static kdl_status write_inflated(int fd, const void *bytes, size_t size) {
  return kdl_fd_write(fd, bytes, size)
             ? KDL_OK
             : kdl_fail(kdl_status_from_errno(errno), "cannot write the inflated member: %s",
                        strerror(errno));
}

/* Pages that were read stay mapped, and would add up to the whole archive: they are dropped now and
 * then, and read again from the file where needed. */
static kdl_status inflate_to(const zip *z, kdl_inflater *inflater, const uint8_t *head,
                             size_t head_size, uint64_t size, int fd) {
  enum { step = 1 << 16, dropped_after = 1 << 26 };
  uint8_t room[step];
  size_t count;
  KDL_TRY(write_inflated(fd, head, head_size));
  for (uint64_t left = size - head_size; left; left -= count) {
    size_t want = left < step ? (size_t)left : step;
    KDL_TRY(kdl_inflater_read(inflater, room, want, want, &count));
    KDL_TRY(write_inflated(fd, room, count));
    if ((left - count) % dropped_after < step)
      (void)madvise(z->mapping, z->mapping_size, MADV_DONTNEED);
  }
  return kdl_inflater_finish(inflater);
}

/* From now on the inflated member is read, not the archive; only the member must not change. */
static kdl_status evaluate_inflated(const zip *z, const entry *e, int fd, const uint8_t *head,
                                    size_t head_size) {
  char room[CHECK_FD_PATH_SIZE];
  kdl_library *lib;
  check_file file = *z->file;
  file.fd = fd;
  check_note_kind(&file, head, head_size);
  if (check_was_changed(z->file))
    return KDL_OK; /* reported by check_read_file */
  if (fstat(fd, &file.info) != 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot look at the temporary file: %s",
                    strerror(errno));
  char *name = xasprintf("%s!%s", z->file->path, e->name);
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = name};
  kdl_status status = kdl_open(check_fd_path(&file, room), &opts, &lib);
  if (status == KDL_OK)
    status = check_evaluate(z->c, lib, &file, e->name, z->package);
  free(name);
  return status;
}

static kdl_status inflate_and_evaluate(zip *z, const entry *e, kdl_inflater *inflater,
                                       const uint8_t *head, size_t head_size) {
  const uint64_t limit =
      ZIP_INFLATED_BASE + z->source.size * ZIP_INFLATED_RATIO - z->uncompressed_size;
  KDL_TRY(zip_check_inflated(&e->in, limit));
  z->uncompressed_size += e->in.uncompressed_size;
  int fd = check_create_temp_file();
  if (fd < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot make a temporary file: %s",
                    strerror(errno));
  kdl_status status = inflate_to(z, inflater, head, head_size, e->in.uncompressed_size, fd);
  if (status == KDL_OK)
    status = evaluate_inflated(z, e, fd, head, head_size);
  close(fd);
  return status;
}

static kdl_status read_deflated_member(zip *z, const entry *e, const uint8_t *packed) {
  uint8_t head[KDL_SNIFF_SIZE];
  size_t want =
             e->in.uncompressed_size < sizeof head ? (size_t)e->in.uncompressed_size : sizeof head,
         count = 0;
  kdl_inflater *inflater;
  KDL_TRY(kdl_inflater_create(KDL_CODEC_DEFLATE, packed, (size_t)e->in.compressed_size, &inflater));
  kdl_status status = kdl_inflater_read(inflater, head, want, want, &count);
  if (status == KDL_OK && check_may_have_device_code(head, count))
    status = inflate_and_evaluate(z, e, inflater, head, count);
  kdl_inflater_destroy(inflater);
  return status;
}

/* Maps the compressed bytes, which are paged in on demand. If the file shrinks, the guard of
 * check_read_file applies. */
static void read_compressed_member(zip *z, const entry *e, uint64_t offset) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset - offset % page;
  size_t size = (size_t)(offset - start + e->in.compressed_size);
  void *mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, z->file->fd, (off_t)start);
  if (mapping == MAP_FAILED) {
    (void)kdl_fail(kdl_status_from_errno(errno), "cannot map %" PRIu64 " bytes: %s",
                   e->in.compressed_size, strerror(errno));
    add_member_error(z, e->name, NULL);
    return;
  }
  z->mapping = mapping;
  z->mapping_size = size;
  kdl_status status = read_deflated_member(z, e, (const uint8_t *)mapping + (offset - start));
  munmap(mapping, size);
  if (status != KDL_OK && !check_is_no_device_code_error(status))
    add_member_error(z, e->name, NULL);
}

static void check_zip_member(zip *z, const entry *e) {
  uint64_t offset;
  if (!e->in.compressed_size || !e->in.uncompressed_size)
    return;
  check_begin_part(z->compressed_size, e->in.compressed_size);
  if (e->in.flags & ZIP_ENCRYPTED)
    add_member_error(z, e->name, "it is encrypted");
  else if (e->in.compressed_size > z->source.size - z->compressed_size)
    damaged(z, e->name, "zip: found %" PRIu64 " bytes that other members have too",
            e->in.compressed_size);
  else if (zip_find_data(&z->source, z->source.size, &e->in, &offset))
    damaged(z, e->name, "zip: found no member at offset 0x%" PRIx64, e->in.header_offset);
  else if (e->in.method == ZIP_DEFLATED)
    read_compressed_member(z, e, offset);
  else if (e->in.method != ZIP_STORED)
    damaged(z, e->name, "zip: found method %u, expected 0 (stored) or 8 (deflated)", e->in.method);
  else if (e->in.compressed_size != e->in.uncompressed_size)
    damaged(z, e->name, "zip: found a stored member of %" PRIu64 " bytes with another size",
            e->in.compressed_size);
  else
    check_read_member(z->c, z->file, e->name, z->package, offset, e->in.compressed_size);
  z->compressed_size += e->in.compressed_size < z->source.size - z->compressed_size
                            ? e->in.compressed_size
                            : z->source.size - z->compressed_size;
}

void check_read_zip(check *c, const check_file *file) {
  zip z = {.c = c, .file = file, .source = {.fd = file->fd, .size = (uint64_t)file->info.st_size}};
  if (read_directory(&z)) {
    entry e;
    size_t at = 0;
    find_package(&z);
    for (; next_entry(&z, &at, &e); free(e.name))
      check_zip_member(&z, &e);
    if (at != z.directory_size)
      damaged(&z, "", "zip: found a damaged directory at its byte %zu", at);
  }
  free(z.directory);
  free(z.package);
}
