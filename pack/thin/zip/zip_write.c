/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes an archive with new bytes for some members. */
#include "lib/inspect/formats.h"
#include "pack/thin/zip/zip.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/digests/digests.h"
#include "tools/common/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  wide_id = 1,
  padding_id = 0x4246, /* "FB": padding in PyTorch's archives, which aligns stored members */
  padding_unit = 64,
  zip64_version = 45,
};

/* ------------------------------------------------------------------------------------------ */
/* New bytes                                                                                    */

static uint32_t crc_of(const uint8_t *data, size_t size) {
  static uint32_t table[256];
  if (!table[1]) {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t word = i;
      for (int bit = 0; bit < 8; ++bit)
        word = word >> 1 ^ (word & 1 ? 0xedb88320 : 0);
      table[i] = word;
    }
  }
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < size; ++i)
    crc = crc >> 8 ^ table[(crc ^ data[i]) & 255];
  return ~crc;
}

static void show_packed(void *user, size_t done) {
  const size_t *size = user;
  cli_progress_within((double)done / (double)*size);
}

kdl_status zip_replace(const zip_archive *archive, zip_member *member, const void *data,
                       size_t size, kdl_arena *arena) {
  enum { zlib_header = 2, zlib_check = 4 }; /* around the deflated bytes */
  void *stream = NULL;
  const uint8_t *packed = data;
  size_t packed_size = size;
  if (member->entry.method == ZIP_DEFLATED) {
    kdl_status status =
        kdl_deflate(KDL_CODEC_ZLIB, data, size, show_packed, &size, &stream, &packed_size);
    if (status != KDL_OK) {
      kdl_error_prefix("%s!%.*s", archive->name, (int)member->entry.name.length,
                       member->entry.name.data);
      return status;
    }
    packed = (const uint8_t *)stream + zlib_header;
    packed_size -= zlib_header + zlib_check;
  }
  member->is_changed = true;
  member->new_data = (const uint8_t *)xarena_string(arena, packed, packed_size).data;
  free(stream);
  member->new_compressed_size = packed_size;
  member->new_uncompressed_size = size;
  member->new_crc = crc_of(data, size);
  sha256(data, size, member->digest);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

/* Copies the extra fields except those with an ID; returns the length. */
static size_t copy_extra(uint8_t *to, const uint8_t *extra, size_t size, unsigned without) {
  size_t used = 0;
  for (size_t at = 0; at < size;) {
    size_t left = size - at;
    size_t length = left >= 4 ? 4 + (size_t)kdl_load_u16(extra + at + 2) : left;
    if (length > left)
      length = left; /* malformed data is copied */
    if (left < 4 || kdl_load_u16(extra + at) != without) {
      memcpy(to + used, extra + at, length);
      used += length;
    }
    at += length;
  }
  return used;
}

static bool has_extra(const uint8_t *extra, size_t size, unsigned id) {
  for (size_t at = 0; at + 4 <= size; at += 4 + (size_t)kdl_load_u16(extra + at + 2)) {
    if (kdl_load_u16(extra + at) == id)
      return true;
  }
  return false;
}

static const uint8_t *local_extra(const zip_archive *z, const zip_member *m, size_t *out_size) {
  const uint8_t *local = z->data + m->entry.header_offset;
  *out_size = kdl_load_u16(local + 28);
  return local + ZIP_LOCAL_SIZE + kdl_load_u16(local + 26);
}

/* Whether its data must be aligned. */
static bool is_aligned(const zip_archive *z, const zip_member *m) {
  size_t size;
  const uint8_t *extra = local_extra(z, m, &size);
  return has_extra(extra, size, padding_id) && m->data % padding_unit == 0;
}

static bool is_large(uint64_t number) {
  return number >= UINT32_MAX;
}

static kdl_status put_local(const zip_archive *z, const zip_member *m, thin_output *out) {
  size_t old_extra, name = m->entry.name.length, used = 0;
  const uint8_t *extra = local_extra(z, m, &old_extra);
  size_t room = ZIP_LOCAL_SIZE + name + old_extra + 20 + 4 + padding_unit;
  uint8_t *made = xarena_alloc(&out->arena, room);
  memcpy(made, z->data + m->entry.header_offset, ZIP_LOCAL_SIZE + name);
  uint8_t *fields = made + ZIP_LOCAL_SIZE + name;
  if (m->is_changed) {
    uint8_t *rest = xmalloc(old_extra);
    bool is_wide = is_large(m->new_uncompressed_size) || is_large(m->new_compressed_size);
    size_t left = copy_extra(rest, extra, old_extra, wide_id);
    if (is_wide) {
      kdl_store_u16(fields, wide_id);
      kdl_store_u16(fields + 2, 16);
      kdl_store_u64(fields + 4, m->new_uncompressed_size);
      kdl_store_u64(fields + 12, m->new_compressed_size);
      used = 20;
    }
    used += copy_extra(fields + used, rest, left, padding_id);
    free(rest);
    kdl_store_u16(made + 6, (uint16_t)(m->entry.flags & ~(unsigned)ZIP_DESCRIPTOR));
    kdl_store_u32(made + 14, m->new_crc);
    kdl_store_u32(made + 18, is_wide ? UINT32_MAX : (uint32_t)m->new_compressed_size);
    kdl_store_u32(made + 22, is_wide ? UINT32_MAX : (uint32_t)m->new_uncompressed_size);
  } else {
    used = copy_extra(fields, extra, old_extra, padding_id);
  }
  if (is_aligned(z, m)) {
    uint64_t data = out->size + ZIP_LOCAL_SIZE + name + used + 4;
    size_t padding = (size_t)(-data & (padding_unit - 1));
    kdl_store_u16(fields + used, padding_id);
    kdl_store_u16(fields + used + 2, (uint16_t)padding);
    memset(fields + used + 4, 'Z', padding);
    used += 4 + padding;
  }
  if (used > UINT16_MAX)
    return kdl_fail(KDL_BAD_FILE, "%s: zip: found extra fields without room for more", z->name);
  kdl_store_u16(made + 28, (uint16_t)used);
  thin_output_add(out, made, ZIP_LOCAL_SIZE + name + used);
  return KDL_OK;
}

static kdl_status put_directory_entry(const zip_archive *z, const zip_member *m, thin_output *out) {
  size_t name = kdl_load_u16(m->entry.bytes + 28), extra = kdl_load_u16(m->entry.bytes + 30);
  size_t comment = kdl_load_u16(m->entry.bytes + 32);
  uint8_t *made = xarena_alloc(&out->arena, m->entry.size + 28);
  memcpy(made, m->entry.bytes, ZIP_ENTRY_SIZE + name);
  uint64_t packed = m->is_changed ? m->new_compressed_size : m->entry.compressed_size;
  uint64_t inflated = m->is_changed ? m->new_uncompressed_size : m->entry.uncompressed_size;
  const uint64_t numbers[] = {inflated, packed, m->new_header_offset};
  static const uint8_t fields[] = {24, 20, 42};
  uint8_t *to = made + ZIP_ENTRY_SIZE + name, wide[4 + 24];
  size_t wide_size = 4;
  for (size_t i = 0; i < 3; ++i) {
    kdl_store_u32(made + fields[i], is_large(numbers[i]) ? UINT32_MAX : (uint32_t)numbers[i]);
    if (is_large(numbers[i])) {
      kdl_store_u64(wide + wide_size, numbers[i]);
      wide_size += 8;
    }
  }
  if (m->is_changed) {
    kdl_store_u16(made + 8, (uint16_t)(m->entry.flags & ~(unsigned)ZIP_DESCRIPTOR));
    kdl_store_u32(made + 16, m->new_crc);
  }
  size_t used = 0;
  if (wide_size > 4) {
    kdl_store_u16(wide, wide_id);
    kdl_store_u16(wide + 2, (uint16_t)(wide_size - 4));
    memcpy(to, wide, wide_size);
    used = wide_size;
    if (kdl_load_u16(made + 6) < zip64_version)
      kdl_store_u16(made + 6, zip64_version);
  }
  used += copy_extra(to + used, m->entry.bytes + ZIP_ENTRY_SIZE + name, extra, wide_id);
  if (used > UINT16_MAX)
    return kdl_fail(KDL_BAD_FILE, "%s: zip: found extra fields without room for more", z->name);
  kdl_store_u16(made + 30, (uint16_t)used);
  memcpy(to + used, m->entry.bytes + ZIP_ENTRY_SIZE + name + extra, comment);
  thin_output_add(out, made, ZIP_ENTRY_SIZE + name + used + comment);
  return KDL_OK;
}

static void put_end(const zip_archive *z, size_t count, uint64_t directory, thin_output *out) {
  uint64_t size = out->size - directory, at = out->size;
  bool wide = z->is_zip64 || count >= UINT16_MAX || is_large(size) || is_large(directory);
  uint8_t *made = xarena_alloc(&out->arena, ZIP_END64_SIZE + ZIP_LOCATOR_SIZE + ZIP_END_SIZE);
  memset(made, 0, ZIP_END64_SIZE + ZIP_LOCATOR_SIZE + ZIP_END_SIZE);
  uint8_t *to = made;
  if (wide) {
    kdl_store_u32(to, ZIP_END64);
    kdl_store_u64(to + 4, ZIP_END64_SIZE - 12);
    kdl_store_u16(to + 12, zip64_version);
    kdl_store_u16(to + 14, zip64_version);
    kdl_store_u64(to + 24, count);
    kdl_store_u64(to + 32, count);
    kdl_store_u64(to + 40, size);
    kdl_store_u64(to + 48, directory);
    to += ZIP_END64_SIZE;
    kdl_store_u32(to, ZIP_LOCATOR);
    kdl_store_u64(to + 8, at);
    kdl_store_u32(to + 16, 1);
    to += ZIP_LOCATOR_SIZE;
  }
  kdl_store_u32(to, ZIP_END);
  kdl_store_u16(to + 8, count >= UINT16_MAX ? UINT16_MAX : (uint16_t)count);
  kdl_store_u16(to + 10, count >= UINT16_MAX ? UINT16_MAX : (uint16_t)count);
  kdl_store_u32(to + 12, is_large(size) ? UINT32_MAX : (uint32_t)size);
  kdl_store_u32(to + 16, is_large(directory) ? UINT32_MAX : (uint32_t)directory);
  kdl_store_u16(to + 20, (uint16_t)z->comment_size);
  to += ZIP_END_SIZE;
  thin_output_add(out, made, (uint64_t)(to - made));
  thin_output_add(out, z->comment, z->comment_size);
}

/* ------------------------------------------------------------------------------------------ */
/* The archive                                                                                  */

static kdl_status put_zip_member(const zip_archive *z, zip_member *m, thin_output *out) {
  m->new_header_offset = out->size;
  bool has_new_header = m->is_changed || is_aligned(z, m);
  if (has_new_header)
    KDL_TRY(put_local(z, m, out));
  uint64_t from = has_new_header ? m->data : m->entry.header_offset;
  if (m->is_changed)
    thin_output_add(out, m->new_data, m->new_compressed_size);
  else
    thin_output_add(out, z->data + from, m->end - from);
  return KDL_OK;
}

kdl_status zip_write(zip_archive *archive, thin_output *out) {
  size_t kept = 0;
  thin_output_add(out, archive->data, archive->count ? archive->order[0]->entry.header_offset : 0);
  for (size_t i = 0; i < archive->count; ++i) {
    if (!archive->order[i]->is_dropped)
      KDL_TRY(put_zip_member(archive, archive->order[i], out));
  }
  uint64_t directory = out->size;
  for (size_t i = 0; i < archive->count; ++i) {
    if (archive->members[i].is_dropped)
      continue;
    ++kept;
    KDL_TRY(put_directory_entry(archive, &archive->members[i], out));
  }
  put_end(archive, kept, directory, out);
  return KDL_OK;
}
