/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the directory of a zip archive, checks it against the members, and reads their bytes. */
#include "lib/inspect/formats.h"
#include "pack/check/check.h"
#include "pack/thin/zip/zip.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static kdl_status fail_damaged_zip(const zip_archive *z, uint64_t at, const char *problem) {
  return kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": zip: %s", z->name, at, problem);
}

/* ------------------------------------------------------------------------------------------ */
/* The end                                                                                      */

static kdl_status read_end(zip_archive *z, uint64_t *out_count) {
  zip_end end;
  zip_source source = {.data = z->data, .size = z->size};
  zip_end_found found = zip_find_end(&source, true, &end);
  if (found == ZIP_END_MISSING)
    return fail_damaged_zip(z, z->size, "found no end of the directory");
  if (end.is_split)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found an archive in several volumes, expected it in one file", z->name);
  if (found == ZIP_END_DAMAGED)
    return fail_damaged_zip(z, end.at - ZIP_LOCATOR_SIZE,
                            "found a locator of zip64, expected its record");
  if (!kdl_in_range(end.directory, end.directory_size, end.first))
    return fail_damaged_zip(z, end.at, "found a directory beyond the end");
  if (end.count > end.directory_size / ZIP_ENTRY_SIZE)
    return fail_damaged_zip(z, end.at, "found more members than the directory has room for");
  z->is_zip64 = end.is_zip64;
  z->directory = end.directory;
  z->directory_size = end.directory_size;
  z->comment = z->data + end.at + ZIP_END_SIZE;
  z->comment_size = end.comment_size;
  *out_count = end.count;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Members                                                                                      */

/* Whether unpacking it would write outside the folder. */
static bool escapes_folder(kdl_string name) {
  if (name.length == 0 || name.data[0] == '/' || memchr(name.data, '\0', name.length))
    return true;
  for (size_t at = 0; at < name.length;) {
    const char *slash = memchr(name.data + at, '/', name.length - at);
    size_t end = slash ? (size_t)(slash - name.data) : name.length;
    if (end - at == 2 && memcmp(name.data + at, "..", 2) == 0)
      return true;
    at = end + 1;
  }
  return false;
}

static kdl_status read_local(const zip_archive *z, zip_member *m) {
  zip_source source = {.data = z->data, .size = z->size};
  const char *problem = zip_find_data(&source, z->directory, &m->entry, &m->data);
  if (problem)
    return fail_damaged_zip(z, m->entry.header_offset, problem);
  const uint8_t *local = z->data + m->entry.header_offset;
  kdl_string name = m->entry.name;
  if (kdl_load_u16(local + 26) != name.length ||
      memcmp(local + ZIP_LOCAL_SIZE, name.data, name.length) != 0)
    return fail_damaged_zip(z, m->entry.header_offset,
                            "found another name than the directory has for the member");
  return KDL_OK;
}

static kdl_status read_zip_members(zip_archive *z, uint64_t count) {
  const uint8_t *from = z->data + z->directory, *end = from + z->directory_size;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = (uint64_t)(from - z->data);
    zip_member *m = &z->members[z->count];
    const char *problem = zip_read_entry(from, (size_t)(end - from), &m->entry);
    if (problem)
      return fail_damaged_zip(z, at, problem);
    ++z->count;
    if (escapes_folder(m->entry.name))
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64
                      ": zip: found a member named '%.*s', expected one inside the archive's "
                      "folder",
                      z->name, at, (int)(m->entry.name.length < 80 ? m->entry.name.length : 80),
                      m->entry.name.data);
    KDL_TRY(read_local(z, m));
    from += m->entry.size;
  }
  return from == end ? KDL_OK
                     : fail_damaged_zip(z, (uint64_t)(from - z->data),
                                        "found more in the directory than its members");
}

/* ------------------------------------------------------------------------------------------ */
/* Overlapping members                                                                          */

static int compare_member_offsets(const void *left, const void *right) {
  uint64_t a = (*(zip_member *const *)left)->entry.header_offset;
  uint64_t b = (*(zip_member *const *)right)->entry.header_offset;
  return (a > b) - (a < b);
}

static kdl_status order_members(zip_archive *z) {
  z->order = xcalloc(z->count, sizeof *z->order);
  for (size_t i = 0; i < z->count; ++i)
    z->order[i] = &z->members[i];
  qsort(z->order, z->count, sizeof *z->order, compare_member_offsets);
  for (size_t i = 0; i < z->count; ++i) {
    zip_member *m = z->order[i];
    m->end = i + 1 < z->count ? z->order[i + 1]->entry.header_offset : z->directory;
    if (m->data + m->entry.compressed_size > m->end)
      return fail_damaged_zip(z, m->entry.header_offset,
                              "found a member that shares bytes with another");
  }
  return KDL_OK;
}

static int compare_member_names(const void *a, const void *b) {
  const kdl_string *x = a, *y = b;
  size_t common = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->data, y->data, common);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static kdl_status reject_duplicate_names(const zip_archive *z) {
  kdl_string *names = xcalloc(z->count, sizeof *names);
  for (size_t i = 0; i < z->count; ++i)
    names[i] = z->members[i].entry.name;
  qsort(names, z->count, sizeof *names, compare_member_names);
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < z->count && status == KDL_OK; ++i) {
    if (compare_member_names(&names[i - 1], &names[i]) == 0)
      status =
          kdl_fail(KDL_BAD_FILE, "%s: zip: found two members named '%.*s', expected each name once",
                   z->name, (int)(names[i].length < 80 ? names[i].length : 80), names[i].data);
  }
  free(names);
  return status;
}

kdl_status zip_read(const uint8_t *data, uint64_t size, const char *name,
                    zip_archive *out_archive) {
  uint64_t count = 0;
  *out_archive = (zip_archive){.data = data, .size = size, .name = name};
  KDL_TRY(read_end(out_archive, &count));
  out_archive->members = xcalloc((size_t)count, sizeof *out_archive->members);
  kdl_status status = read_zip_members(out_archive, count);
  if (status == KDL_OK)
    status = order_members(out_archive);
  if (status == KDL_OK)
    status = reject_duplicate_names(out_archive);
  if (status != KDL_OK)
    zip_free(out_archive);
  return status;
}

void zip_free(zip_archive *archive) {
  free(archive->members);
  free(archive->order);
  *archive = (zip_archive){.members = NULL};
}

/* ------------------------------------------------------------------------------------------ */
/* Bytes                                                                                        */

static kdl_status fail_zip_member(const zip_archive *z, const zip_member *m, kdl_status status) {
  kdl_error_prefix("%s!%.*s", z->name,
                   (int)(m->entry.name.length < 256 ? m->entry.name.length : 256),
                   m->entry.name.data);
  return status;
}

static kdl_status map_temp_file(uint64_t size, uint8_t **out_data) {
  int fd = check_create_temp_file();
  if (fd < 0)
    return kdl_fail(kdl_status_from_errno(errno), "cannot make a temporary file: %s",
                    strerror(errno));
  /* Allocates the space at once: a full disk is then an error, not a signal later. */
  int problem = posix_fallocate(fd, 0, (off_t)size);
  void *mapping =
      problem ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (!problem && mapping == MAP_FAILED)
    problem = errno;
  close(fd);
  if (problem)
    return kdl_fail(kdl_status_from_errno(problem),
                    "cannot make a temporary file of %" PRIu64 " bytes: %s", size,
                    strerror(problem));
  *out_data = mapping;
  return KDL_OK;
}

kdl_status zip_inflate(const zip_archive *archive, const zip_member *member, zip_bytes *out_bytes) {
  const uint8_t *packed = archive->data + member->data;
  *out_bytes = (zip_bytes){.data = packed, .size = (size_t)member->entry.uncompressed_size};
  bool is_known = member->entry.method == ZIP_STORED || member->entry.method == ZIP_DEFLATED;
  if (!is_known || member->entry.flags & ZIP_ENCRYPTED)
    return fail_zip_member(archive, member,
                           kdl_fail(KDL_BAD_FILE,
                                    "zip: found a member %s, expected one that can be read",
                                    is_known ? "that is encrypted" : "packed by another method"));
  if (member->entry.method == ZIP_STORED)
    return member->entry.compressed_size == member->entry.uncompressed_size
               ? KDL_OK
               : fail_zip_member(archive, member,
                                 kdl_fail(KDL_BAD_FILE,
                                          "zip: found a stored member of %" PRIu64
                                          " bytes with another size",
                                          member->entry.compressed_size));
  uint8_t *data = NULL;
  const uint64_t limit = ZIP_INFLATED_BASE + member->entry.compressed_size * ZIP_INFLATED_RATIO;
  kdl_status status = zip_check_inflated(&member->entry, limit);
  if (status != KDL_OK)
    kdl_error_prefix("zip");
  if (status == KDL_OK && member->entry.uncompressed_size)
    status = map_temp_file(member->entry.uncompressed_size, &data);
  if (status == KDL_OK && member->entry.uncompressed_size)
    status = kdl_inflate(KDL_CODEC_DEFLATE, packed, (size_t)member->entry.compressed_size, data,
                         (size_t)member->entry.uncompressed_size);
  out_bytes->data = out_bytes->mapping = data;
  if (status == KDL_OK)
    return KDL_OK;
  zip_release(out_bytes);
  return fail_zip_member(archive, member, status);
}

void zip_release(zip_bytes *bytes) {
  if (bytes->mapping)
    munmap(bytes->mapping, bytes->size);
  *bytes = (zip_bytes){.data = NULL};
}

kdl_status zip_peek(const zip_archive *archive, const zip_member *member, uint8_t *head,
                    size_t room, size_t *out_size) {
  const uint8_t *packed = archive->data + member->data;
  size_t want =
      member->entry.uncompressed_size < room ? (size_t)member->entry.uncompressed_size : room;
  *out_size = 0;
  if (want == 0 || member->entry.compressed_size == 0 || member->entry.flags & ZIP_ENCRYPTED ||
      (member->entry.method != ZIP_STORED && member->entry.method != ZIP_DEFLATED))
    return KDL_OK;
  if (member->entry.method == ZIP_STORED) {
    *out_size = want < member->entry.compressed_size ? want : (size_t)member->entry.compressed_size;
    memcpy(head, packed, *out_size);
    return KDL_OK;
  }
  kdl_inflater *inflater;
  kdl_status status = kdl_inflater_create(KDL_CODEC_DEFLATE, packed,
                                          (size_t)member->entry.compressed_size, &inflater);
  if (status == KDL_OK) {
    status = kdl_inflater_read(inflater, head, want, want, out_size);
    kdl_inflater_destroy(inflater);
  }
  return status == KDL_OK ? KDL_OK : fail_zip_member(archive, member, status);
}
