/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The directory of a zip archive, checked against the members, and their bytes. */
#include "base/bytes.h"
#include "base/error.h"
#include "container/codec/codec.h"
#include "system/file.h"
#include "thin/command.h"
#include "thin/zip/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* docs/thin.md has these. */
#define INFLATED_BASE ((uint64_t)64 << 20)
#define INFLATED_RATIO 128

enum {
  end_size = 22,
  end64_size = 56,
  locator_size = 20,
  entry_size = 46,
  local_size = 30,
  longest_comment = 0xffff,
};

static kdl_status damaged(const zip_archive *z, uint64_t at, const char *problem) {
  return kdl_fail(KDL_BAD_FILE, "%s: offset 0x%" PRIx64 ": zip: %s", z->name, at, problem);
}

bool thin_is_zip(const uint8_t *data, uint64_t size) {
  return size >= end_size && (kdl_load_u32(data) == 0x04034b50 || kdl_load_u32(data) == 0x06054b50);
}

/* ------------------------------------------------------------------------------------------ */
/* The end                                                                                      */

static bool find_end(const zip_archive *z, uint64_t *out_at) {
  uint64_t tail = z->size < longest_comment + end_size ? z->size : longest_comment + end_size;
  for (uint64_t back = end_size; back <= tail; ++back) {
    const uint8_t *at = z->data + z->size - back;
    if (kdl_load_u32(at) == 0x06054b50 && end_size + (uint64_t)kdl_load_u16(at + 20) == back) {
      *out_at = z->size - back;
      return true;
    }
  }
  return false;
}

static kdl_status read_end(zip_archive *z, uint64_t *out_count) {
  uint64_t at;
  if (!find_end(z, &at))
    return damaged(z, z->size, "found no end of the directory");
  const uint8_t *end = z->data + at;
  *out_count = kdl_load_u16(end + 10);
  z->directory_size = kdl_load_u32(end + 12);
  z->directory = kdl_load_u32(end + 16);
  z->comment = end + end_size;
  z->comment_size = kdl_load_u16(end + 20);
  if (kdl_load_u16(end + 4) != kdl_load_u16(end + 6))
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found an archive in several volumes, expected it in one file", z->name);
  uint64_t after = at;
  if (at >= locator_size && kdl_load_u32(end - locator_size) == 0x07064b50) {
    uint64_t wide = kdl_load_u64(end - locator_size + 8);
    if (!kdl_in_range(wide, end64_size, at - locator_size) ||
        kdl_load_u32(z->data + wide) != 0x06064b50)
      return damaged(z, at - locator_size, "found a locator of zip64, expected its record");
    z->is_wide = true;
    *out_count = kdl_load_u64(z->data + wide + 32);
    z->directory_size = kdl_load_u64(z->data + wide + 40);
    z->directory = kdl_load_u64(z->data + wide + 48);
    after = wide;
  }
  if (!kdl_in_range(z->directory, z->directory_size, after))
    return damaged(z, at, "found a directory beyond the end");
  if (*out_count > z->directory_size / entry_size)
    return damaged(z, at, "found more members than the directory has room for");
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Members                                                                                      */

/* Sizes beyond 32 bits stand in an extra field, those that are needed alone. */
static void read_wide(const uint8_t *extra, size_t size, zip_member *m) {
  uint64_t *fields[] = {&m->inflated, &m->packed, &m->header};
  for (size_t at = 0; at + 4 <= size;) {
    size_t length = kdl_load_u16(extra + at + 2);
    if (length > size - at - 4)
      return;
    size_t from = at + 4;
    for (size_t i = 0; kdl_load_u16(extra + at) == 1 && i < 3; ++i) {
      if (*fields[i] != UINT32_MAX || from + 8 > at + 4 + length)
        continue;
      *fields[i] = kdl_load_u64(extra + from);
      from += 8;
    }
    at += 4 + length;
  }
}

/* Whether unpacking it would write outside the folder. */
static bool leads_out(kdl_string name) {
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
  const uint8_t *local = z->data + m->header;
  if (!kdl_in_range(m->header, local_size, z->directory) || kdl_load_u32(local) != 0x04034b50)
    return damaged(z, m->header, "found no header of a member that the directory names");
  uint64_t name = kdl_load_u16(local + 26), extra = kdl_load_u16(local + 28);
  m->data = m->header + local_size + name + extra;
  if (!kdl_in_range(m->data, m->packed, z->directory))
    return damaged(z, m->header, "found a member that goes on beyond the others");
  if (name != m->name.length || memcmp(local + local_size, m->name.data, m->name.length) != 0)
    return damaged(z, m->header, "found another name than the directory has for the member");
  return KDL_OK;
}

static kdl_status read_members(zip_archive *z, uint64_t count) {
  const uint8_t *from = z->data + z->directory, *end = from + z->directory_size;
  kdl_status status = KDL_OK;
  for (uint64_t i = 0; i < count && status == KDL_OK; ++i) {
    uint64_t at = (uint64_t)(from - z->data);
    if ((size_t)(end - from) < entry_size || kdl_load_u32(from) != 0x02014b50)
      return damaged(z, at, "found no entry of the directory");
    size_t name = kdl_load_u16(from + 28), extra = kdl_load_u16(from + 30);
    size_t whole = entry_size + name + extra + kdl_load_u16(from + 32);
    if (whole > (size_t)(end - from))
      return damaged(z, at, "found an entry that goes on beyond the directory");
    zip_member *m = &z->members[z->count++];
    *m = (zip_member){.name = {(const char *)from + entry_size, name},
                      .entry = from,
                      .entry_size = whole,
                      .flags = kdl_load_u16(from + 8),
                      .method = kdl_load_u16(from + 10),
                      .crc = kdl_load_u32(from + 16),
                      .packed = kdl_load_u32(from + 20),
                      .inflated = kdl_load_u32(from + 24),
                      .header = kdl_load_u32(from + 42)};
    read_wide(from + entry_size + name, extra, m);
    if (leads_out(m->name))
      return kdl_fail(KDL_BAD_FILE,
                      "%s: offset 0x%" PRIx64
                      ": zip: found a member named '%.*s', expected one inside the archive's "
                      "folder",
                      z->name, at, (int)(name < 80 ? name : 80), m->name.data);
    status = read_local(z, m);
    from += whole;
  }
  if (status == KDL_OK && from != end)
    status = damaged(z, (uint64_t)(from - z->data), "found more in the directory than its members");
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Members against each other                                                                   */

typedef struct {
  uint64_t at;
  size_t index;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static kdl_status order_members(zip_archive *z) {
  place *places = calloc(z->count + 1, sizeof *places);
  z->order = calloc(z->count + 1, sizeof *z->order);
  if (!places || !z->order) {
    free(places);
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", z->name);
  }
  for (size_t i = 0; i < z->count; ++i)
    places[i] = (place){z->members[i].header, i};
  qsort(places, z->count, sizeof *places, by_place);
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < z->count && status == KDL_OK; ++i) {
    zip_member *m = &z->members[places[i].index];
    z->order[i] = places[i].index;
    m->end = i + 1 < z->count ? places[i + 1].at : z->directory;
    if (m->data + m->packed > m->end)
      status = damaged(z, m->header, "found a member that shares bytes with another");
  }
  free(places);
  return status;
}

static int by_name(const void *a, const void *b) {
  const kdl_string *x = a, *y = b;
  size_t common = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->data, y->data, common);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static kdl_status refuse_twins(const zip_archive *z) {
  kdl_string *names = calloc(z->count + 1, sizeof *names);
  if (!names)
    return kdl_fail(KDL_NO_MEMORY, "%s: out of memory", z->name);
  for (size_t i = 0; i < z->count; ++i)
    names[i] = z->members[i].name;
  qsort(names, z->count, sizeof *names, by_name);
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < z->count && status == KDL_OK; ++i) {
    if (by_name(&names[i - 1], &names[i]) == 0)
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
  kdl_status status = read_end(out_archive, &count);
  if (status == KDL_OK) {
    out_archive->members = calloc((size_t)count + 1, sizeof *out_archive->members);
    status = out_archive->members ? read_members(out_archive, count)
                                  : kdl_fail(KDL_NO_MEMORY, "%s: out of memory", name);
  }
  if (status == KDL_OK)
    status = order_members(out_archive);
  if (status == KDL_OK)
    status = refuse_twins(out_archive);
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

static kdl_status failed(const zip_archive *z, const zip_member *m, kdl_status status) {
  kdl_error_prefix("%s!%.*s", z->name, (int)(m->name.length < 256 ? m->name.length : 256),
                   m->name.data);
  return status;
}

static kdl_status check_size(const zip_member *m) {
  const uint64_t limit = INFLATED_BASE + m->packed * INFLATED_RATIO;
  if (m->inflated <= limit)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "zip: found %" PRIu64 " bytes that inflate to %" PRIu64 ", expected at most "
                  "%" PRIu64,
                  m->packed, m->inflated, limit);
}

/* A file without a name, on a disk: what is inflated may be larger than memory. */
static kdl_status map_file(uint64_t size, uint8_t **out_data) {
  const char *folder = getenv("TMPDIR");
  int fd = open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0)
    return kdl_fail(KDL_IO, "cannot make a temporary file: %s", strerror(errno));
  /* The room is claimed at once: a disk that is full is an error here, and no signal later. */
  int problem = posix_fallocate(fd, 0, (off_t)size);
  void *mapping =
      problem ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (!problem && mapping == MAP_FAILED)
    problem = errno;
  close(fd);
  if (problem)
    return kdl_fail(KDL_IO, "cannot make a temporary file of %" PRIu64 " bytes: %s", size,
                    strerror(problem));
  *out_data = mapping;
  return KDL_OK;
}

kdl_status zip_inflate(const zip_archive *archive, const zip_member *member, zip_bytes *out_bytes) {
  const uint8_t *packed = archive->data + member->data;
  *out_bytes = (zip_bytes){.data = packed, .size = (size_t)member->inflated};
  if (member->method == ZIP_STORED)
    return member->packed == member->inflated
               ? KDL_OK
               : failed(archive, member,
                        kdl_fail(KDL_BAD_FILE,
                                 "zip: found a stored member of %" PRIu64
                                 " bytes with another size",
                                 member->packed));
  uint8_t *data = NULL;
  kdl_status status = check_size(member);
  if (status == KDL_OK && member->inflated)
    status = map_file(member->inflated, &data);
  if (status == KDL_OK && member->inflated)
    status = kdl_inflate(KDL_CODEC_DEFLATE, packed, (size_t)member->packed, data,
                         (size_t)member->inflated);
  out_bytes->data = out_bytes->mapping = data;
  if (status == KDL_OK)
    return KDL_OK;
  zip_release(out_bytes);
  return failed(archive, member, status);
}

void zip_release(zip_bytes *bytes) {
  if (bytes->mapping)
    munmap(bytes->mapping, bytes->size);
  *bytes = (zip_bytes){.data = NULL};
}

kdl_status zip_peek(const zip_archive *archive, const zip_member *member, uint8_t *head,
                    size_t room, size_t *out_size) {
  const uint8_t *packed = archive->data + member->data;
  size_t want = member->inflated < room ? (size_t)member->inflated : room;
  *out_size = 0;
  if (want == 0 || member->packed == 0 || member->flags & ZIP_ENCRYPTED ||
      (member->method != ZIP_STORED && member->method != ZIP_DEFLATED))
    return KDL_OK;
  if (member->method == ZIP_STORED) {
    *out_size = want < member->packed ? want : (size_t)member->packed;
    memcpy(head, packed, *out_size);
    return KDL_OK;
  }
  kdl_inflater *inflater;
  kdl_status status =
      kdl_inflater_create(KDL_CODEC_DEFLATE, packed, (size_t)member->packed, &inflater);
  if (status == KDL_OK) {
    status = kdl_inflater_read(inflater, head, want, want, out_size);
    kdl_inflater_destroy(inflater);
  }
  return status == KDL_OK ? KDL_OK : failed(archive, member, status);
}
