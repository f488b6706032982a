/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of zip archives, wheels among them. Stored members are read where they lie; a deflated
 * one whose first bytes are those of device code is inflated into a file without a name. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "check/check.h"
#include "container/codec/codec.h"
#include "image/image.h"
#include "system/file.h"

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

/* docs/cli.md has these. */
#define LARGEST_DIRECTORY ((uint64_t)256 << 20)
#define INFLATED_BASE ((uint64_t)64 << 20)
#define INFLATED_RATIO 128

enum {
  end_size = 22,
  end64_size = 56,
  locator_size = 20,
  entry_size = 46,
  local_size = 30,
  longest_comment = 0xffff,
  stored = 0,
  deflated = 8,
  is_encrypted = 1,
};

typedef struct {
  check *c;
  const check_file *file;
  uint64_t size;
  uint8_t *directory;
  uint64_t directory_size;
  uint64_t packed;   /* bytes of the members so far: more than the file has are there twice */
  uint64_t inflated; /* of them, into files */
  char *package;
} zip;

typedef struct {
  char *name;
  unsigned method, flags;
  uint64_t packed, inflated, header;
} entry;

static void tell(const zip *z, const char *member, const char *message) {
  char *path;
  if (asprintf(&path, "%s%s%s", z->file->path, *member ? "!" : "", member) < 0)
    return;
  check_add_trouble(z->c, path, message);
  free(path);
}

__attribute__((format(printf, 3, 0))) static void damaged_va(const zip *z, const char *member,
                                                             const char *format, va_list args) {
  char message[160];
  vsnprintf(message, sizeof message, format, args);
  tell(z, member, message);
}

__attribute__((format(printf, 3, 4))) static void damaged(const zip *z, const char *member,
                                                          const char *format, ...) {
  va_list args;
  va_start(args, format);
  damaged_va(z, member, format, args);
  va_end(args);
}

static bool read_at(const zip *z, uint64_t offset, void *out, size_t size) {
  if (!kdl_in_range(offset, size, z->size))
    return false;
  uint8_t *to = out;
  while (size) {
    ssize_t got = pread(z->file->fd, to, size, (off_t)offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got;
    offset += (uint64_t)got;
    size -= (size_t)got;
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* The directory at the end                                                                     */

/* Where the record at the end begins, which a comment may follow; the size where there is none. */
static uint64_t find_end(const zip *z) {
  enum { room = longest_comment + end_size };
  size_t tail = z->size < room ? (size_t)z->size : room;
  uint8_t *bytes = malloc(tail + 1);
  uint64_t found = z->size;
  if (bytes && tail >= end_size && read_at(z, z->size - tail, bytes, tail)) {
    for (size_t at = tail - end_size + 1; at-- > 0 && found == z->size;) {
      if (kdl_load_u32(bytes + at) == 0x06054b50 &&
          at + end_size + kdl_load_u16(bytes + at + 20) <= tail)
        found = z->size - tail + at;
    }
  }
  free(bytes);
  return found;
}

static bool find_directory(const zip *z, uint64_t *out_offset, uint64_t *out_size) {
  uint8_t end[end64_size];
  uint64_t at = find_end(z);
  if (at == z->size || !read_at(z, at, end, end_size))
    return false;
  *out_size = kdl_load_u32(end + 12);
  *out_offset = kdl_load_u32(end + 16);
  uint8_t locator[locator_size];
  if (at < locator_size || !read_at(z, at - locator_size, locator, locator_size) ||
      kdl_load_u32(locator) != 0x07064b50)
    return true;
  if (!read_at(z, kdl_load_u64(locator + 8), end, end64_size) || kdl_load_u32(end) != 0x06064b50)
    return false;
  *out_size = kdl_load_u64(end + 40);
  *out_offset = kdl_load_u64(end + 48);
  return true;
}

static bool read_directory(zip *z) {
  uint64_t offset, size;
  if (!find_directory(z, &offset, &size)) {
    damaged(z, "", "zip: found no end of the directory in %" PRIu64 " bytes", z->size);
    return false;
  }
  if (!kdl_in_range(offset, size, z->size) || size > LARGEST_DIRECTORY) {
    damaged(z, "", "zip: found a directory of %" PRIu64 " bytes, expected it in the file", size);
    return false;
  }
  z->directory = malloc((size_t)size + 1);
  z->directory_size = size;
  if (z->directory && read_at(z, offset, z->directory, (size_t)size))
    return true;
  damaged(z, "", "zip: cannot read the directory of %" PRIu64 " bytes", size);
  return false;
}

/* Sizes beyond 32 bits stand in an extra field, those that are needed alone. */
static void read_wide(const uint8_t *extra, size_t size, entry *e) {
  uint64_t *fields[] = {&e->inflated, &e->packed, &e->header};
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

/* The entry at *at, which moves behind it; false at the end, and where it is damaged. */
static bool next_entry(const zip *z, size_t *at, entry *out_entry) {
  const uint8_t *from = z->directory + *at;
  if (z->directory_size - *at < entry_size || kdl_load_u32(from) != 0x02014b50)
    return false;
  size_t name = kdl_load_u16(from + 28), extra = kdl_load_u16(from + 30);
  size_t whole = entry_size + name + extra + kdl_load_u16(from + 32);
  if (whole > z->directory_size - *at)
    return false;
  *out_entry = (entry){.name = check_copy(from + entry_size, name),
                       .flags = kdl_load_u16(from + 8),
                       .method = kdl_load_u16(from + 10),
                       .packed = kdl_load_u32(from + 20),
                       .inflated = kdl_load_u32(from + 24),
                       .header = kdl_load_u32(from + 42)};
  read_wide(from + entry_size + name, extra, out_entry);
  *at += whole;
  return out_entry->name != NULL;
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
    z->package = check_copy(e.name, (size_t)(end - e.name));
    char *dash = z->package ? strchr(z->package, '-') : NULL;
    if (dash)
      *dash = ' ';
  }
}

static bool find_data(const zip *z, const entry *e, uint64_t *out_offset) {
  uint8_t local[local_size];
  if (!read_at(z, e->header, local, local_size) || kdl_load_u32(local) != 0x04034b50)
    return false;
  *out_offset =
      e->header + local_size + kdl_load_u16(local + 26) + (uint64_t)kdl_load_u16(local + 28);
  return kdl_in_range(*out_offset, e->packed, z->size);
}

static kdl_status inflate_to(kdl_inflater *inflater, const uint8_t *head, size_t head_size,
                             uint64_t size, int fd) {
  enum { step = 1 << 20 };
  uint8_t *room = malloc(step);
  uint64_t left = size - head_size;
  kdl_status status = room ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK && !kdl_fd_write(fd, head, head_size))
    status = kdl_fail(KDL_IO, "cannot write the inflated member: %s", strerror(errno));
  while (left && status == KDL_OK) {
    size_t want = left < step ? (size_t)left : step, count;
    status = kdl_inflater_read(inflater, room, want, want, &count);
    if (status == KDL_OK && !kdl_fd_write(fd, room, count))
      status = kdl_fail(KDL_IO, "cannot write the inflated member: %s", strerror(errno));
    left -= status == KDL_OK ? count : 0;
  }
  free(room);
  return status == KDL_OK ? kdl_inflater_finish(inflater) : status;
}

static kdl_status judge_inflated(const zip *z, const entry *e, int fd, bool is_loose) {
  char path[64], *name;
  kdl_library *lib;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (asprintf(&name, "%s!%s", z->file->path, e->name) < 0)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  kdl_open_opts opts = {.size = sizeof opts, .flags = KDL_OPEN_FILE, .name = name};
  kdl_status status = kdl_open(path, &opts, &lib);
  if (status == KDL_OK) {
    check_file file = *z->file;
    file.is_loose = is_loose;
    status = check_judge(z->c, lib, &file, e->name, z->package);
    kdl_close(lib);
  }
  free(name);
  return status;
}

static kdl_status inflate_and_judge(zip *z, const entry *e, kdl_inflater *inflater,
                                    const uint8_t *head, size_t head_size) {
  const uint64_t limit = INFLATED_BASE + z->size * INFLATED_RATIO - z->inflated;
  if (e->inflated > limit)
    return kdl_fail(KDL_BAD_FILE,
                    "found %" PRIu64 " bytes that inflate to %" PRIu64
                    ", expected at most %" PRIu64,
                    e->packed, e->inflated, limit);
  z->inflated += e->inflated;
  int fd = check_make_file();
  if (fd < 0)
    return kdl_fail(KDL_IO, "cannot make a temporary file: %s", strerror(errno));
  kdl_status status = inflate_to(inflater, head, head_size, e->inflated, fd);
  if (status == KDL_OK)
    status = judge_inflated(z, e, fd, check_is_loose(head, head_size));
  close(fd);
  return status;
}

static kdl_status read_deflated(zip *z, const entry *e, const uint8_t *packed) {
  uint8_t head[KDL_SNIFF_SIZE];
  size_t want = e->inflated < sizeof head ? (size_t)e->inflated : sizeof head, count = 0;
  kdl_inflater *inflater;
  kdl_status status = kdl_inflater_create(KDL_CODEC_DEFLATE, packed, (size_t)e->packed, &inflater);
  if (status != KDL_OK)
    return status;
  status = kdl_inflater_read(inflater, head, want, want, &count);
  if (status == KDL_OK && check_is_code(head, count))
    status = inflate_and_judge(z, e, inflater, head, count);
  kdl_inflater_destroy(inflater);
  return status;
}

/* Maps the packed bytes; they are read from the file as they are needed. Where it shrinks meanwhile
 * the guard of check_read_file holds. */
static void read_packed(zip *z, const entry *e, uint64_t offset) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset - offset % page;
  size_t size = (size_t)(offset - start + e->packed);
  void *mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, z->file->fd, (off_t)start);
  if (mapping == MAP_FAILED) {
    damaged(z, e->name, "cannot map %" PRIu64 " bytes", e->packed);
    return;
  }
  kdl_status status = read_deflated(z, e, (const uint8_t *)mapping + (offset - start));
  munmap(mapping, size);
  if (status != KDL_OK && !check_has_none(status))
    tell(z, e->name, NULL);
}

static void read_member(zip *z, const entry *e) {
  uint64_t offset;
  uint8_t head[KDL_SNIFF_SIZE];
  size_t look = e->packed < sizeof head ? (size_t)e->packed : sizeof head;
  if (!e->packed || !e->inflated)
    return;
  if (e->flags & is_encrypted)
    tell(z, e->name, "it is encrypted");
  else if (e->packed > z->size - z->packed)
    damaged(z, e->name, "zip: found %" PRIu64 " bytes that other members have too", e->packed);
  else if (!find_data(z, e, &offset))
    damaged(z, e->name, "zip: found no member at offset 0x%" PRIx64, e->header);
  else if (e->method == deflated)
    read_packed(z, e, offset);
  else if (e->method != stored)
    damaged(z, e->name, "zip: found method %u, expected 0 (stored) or 8 (deflated)", e->method);
  else if (e->packed != e->inflated)
    damaged(z, e->name, "zip: found a stored member of %" PRIu64 " bytes with another size",
            e->packed);
  else if (read_at(z, offset, head, look) && check_is_code(head, look)) {
    check_file file = *z->file;
    file.is_loose = check_is_loose(head, look);
    check_read_part(z->c, &file, e->name, z->package, offset, e->packed);
  }
  z->packed += e->packed < z->size - z->packed ? e->packed : z->size - z->packed;
}

void check_read_zip(check *c, const check_file *file, uint64_t size) {
  zip z = {.c = c, .file = file, .size = size};
  if (read_directory(&z)) {
    entry e;
    size_t at = 0;
    find_package(&z);
    for (; next_entry(&z, &at, &e); free(e.name))
      read_member(&z, &e);
    if (at != z.directory_size)
      damaged(&z, "", "zip: found a damaged directory at its byte %zu", at);
  }
  free(z.directory);
  free(z.package);
}
