/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pack/zip/directory.h"

#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { longest_comment = 0xffff, wide_id = 1 };

bool zip_source_read(const zip_source *source, uint64_t offset, void *out, size_t size) {
  if (!kdl_in_range(offset, size, source->size))
    return false;
  if (source->data) {
    memcpy(out, source->data + offset, size);
    return true;
  }
  uint8_t *to = out;
  while (size) {
    ssize_t got = pread(source->fd, to, size, (off_t)offset);
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
/* The end                                                                                      */

/* The last record whose comment fits into the file. */
static bool find_record(const zip_source *source, bool is_last, uint64_t *out_at) {
  enum { room = longest_comment + ZIP_END_SIZE };
  size_t tail = source->size < room ? (size_t)source->size : room;
  uint8_t *bytes = xmalloc(tail);
  bool found = false;
  if (zip_source_read(source, source->size - tail, bytes, tail)) {
    for (size_t back = ZIP_END_SIZE; back <= tail && !found; ++back) {
      const uint8_t *at = bytes + tail - back;
      size_t size = ZIP_END_SIZE + (size_t)kdl_load_u16(at + 20);
      found = kdl_load_u32(at) == ZIP_END && (is_last ? size == back : size <= back);
      *out_at = source->size - back;
    }
  }
  free(bytes);
  return found;
}

zip_end_found zip_find_end(const zip_source *source, bool is_last, zip_end *out_end) {
  uint8_t end[ZIP_END_SIZE], locator[ZIP_LOCATOR_SIZE], wide[ZIP_END64_SIZE];
  uint64_t at;
  if (!find_record(source, is_last, &at) || !zip_source_read(source, at, end, sizeof end))
    return ZIP_END_MISSING;
  *out_end = (zip_end){.at = at,
                       .first = at,
                       .is_split = kdl_load_u16(end + 4) != kdl_load_u16(end + 6),
                       .count = kdl_load_u16(end + 10),
                       .directory_size = kdl_load_u32(end + 12),
                       .directory = kdl_load_u32(end + 16),
                       .comment_size = kdl_load_u16(end + 20)};
  if (at < sizeof locator ||
      !zip_source_read(source, at - sizeof locator, locator, sizeof locator) ||
      kdl_load_u32(locator) != ZIP_LOCATOR)
    return ZIP_END_FOUND;
  uint64_t first = kdl_load_u64(locator + 8);
  if (!kdl_in_range(first, sizeof wide, at - sizeof locator) ||
      !zip_source_read(source, first, wide, sizeof wide) || kdl_load_u32(wide) != ZIP_END64)
    return ZIP_END_DAMAGED;
  out_end->is_zip64 = true;
  out_end->first = first;
  out_end->count = kdl_load_u64(wide + 32);
  out_end->directory_size = kdl_load_u64(wide + 40);
  out_end->directory = kdl_load_u64(wide + 48);
  return ZIP_END_FOUND;
}

/* ------------------------------------------------------------------------------------------ */
/* Members                                                                                      */

/* Sizes beyond 32 bits are in an extra field, which has only those that are needed. */
static void read_zip64_sizes(const uint8_t *extra, size_t size, zip_entry *e) {
  uint64_t *fields[] = {&e->uncompressed_size, &e->compressed_size, &e->header_offset};
  for (size_t at = 0; at + 4 <= size;) {
    size_t length = kdl_load_u16(extra + at + 2);
    if (length > size - at - 4)
      return;
    size_t from = at + 4;
    for (size_t i = 0; kdl_load_u16(extra + at) == wide_id && i < 3; ++i) {
      if (*fields[i] != UINT32_MAX || from + 8 > at + 4 + length)
        continue;
      *fields[i] = kdl_load_u64(extra + from);
      from += 8;
    }
    at += 4 + length;
  }
}

const char *zip_read_entry(const uint8_t *directory, size_t left, zip_entry *out_entry) {
  if (left < ZIP_ENTRY_SIZE || kdl_load_u32(directory) != ZIP_ENTRY)
    return "found no entry of the directory";
  size_t name = kdl_load_u16(directory + 28), extra = kdl_load_u16(directory + 30);
  size_t whole = ZIP_ENTRY_SIZE + name + extra + kdl_load_u16(directory + 32);
  if (whole > left)
    return "found an entry that goes on beyond the directory";
  *out_entry = (zip_entry){.name = {(const char *)directory + ZIP_ENTRY_SIZE, name},
                           .bytes = directory,
                           .size = whole,
                           .flags = kdl_load_u16(directory + 8),
                           .method = kdl_load_u16(directory + 10),
                           .crc = kdl_load_u32(directory + 16),
                           .compressed_size = kdl_load_u32(directory + 20),
                           .uncompressed_size = kdl_load_u32(directory + 24),
                           .header_offset = kdl_load_u32(directory + 42)};
  read_zip64_sizes(directory + ZIP_ENTRY_SIZE + name, extra, out_entry);
  return NULL;
}

const char *zip_find_data(const zip_source *source, uint64_t limit, const zip_entry *entry,
                          uint64_t *out_offset) {
  uint8_t local[ZIP_LOCAL_SIZE];
  if (!kdl_in_range(entry->header_offset, sizeof local, limit) ||
      !zip_source_read(source, entry->header_offset, local, sizeof local) ||
      kdl_load_u32(local) != ZIP_LOCAL)
    return "found no header of a member that the directory names";
  *out_offset = entry->header_offset + ZIP_LOCAL_SIZE + kdl_load_u16(local + 26) +
                (uint64_t)kdl_load_u16(local + 28);
  if (!kdl_in_range(*out_offset, entry->compressed_size, limit))
    return "found a member that goes on beyond the others";
  return NULL;
}

kdl_status zip_check_inflated(const zip_entry *entry, uint64_t limit) {
  if (entry->uncompressed_size <= limit)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "found %" PRIu64 " bytes that inflate to %" PRIu64 ", expected at most %" PRIu64,
                  entry->compressed_size, entry->uncompressed_size, limit);
}
