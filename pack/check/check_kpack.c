/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives of rocm-kpack, into which AMD's libraries are split: "KPAK", a version, the offset of
 * the table; code objects, stored or as zstd frames; and a table in MessagePack with the index of
 * the code object for each library and architecture. docs/formats.md has more. */
#include "lib/inspect/formats.h"
#include "pack/check/check.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* docs/cli.md documents these. */
#define LARGEST_TABLE ((uint64_t)256 << 20)
#define INFLATED_BASE ((uint64_t)64 << 20)
#define INFLATED_RATIO 128

enum { header_size = 16, newest = 1 };

typedef struct {
  uint64_t offset, size;
} object_range;

typedef struct {
  check *c;
  check_file file;
  uint64_t size;
  uint8_t *table;
  size_t table_size;
  object_range *object_ranges; /* of the code objects, by index */
  uint64_t object_count;
  bool is_packed;
  uint64_t read, inflated; /* bytes so far: an archive may name one object many times */
} kpack;

static bool kpack_read_at(const kpack *k, uint64_t offset, void *out, uint64_t size) {
  return kdl_in_range(offset, size, k->size) &&
         pread(k->file.fd, out, (size_t)size, (off_t)offset) == (ssize_t)size;
}

__attribute__((format(printf, 2, 3))) static kdl_status damaged(const kpack *k, const char *format,
                                                                ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return kdl_fail(KDL_BAD_FILE, "%s: kpack: %s", k->file.path, message);
}

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

/* The next item, which must have that type. */
static kdl_status kpack_next_item(kdl_msgpack *reader, kdl_msgpack_type type,
                                  kdl_msgpack_item *out_item) {
  KDL_TRY(kdl_msgpack_next(reader, out_item));
  if (out_item->type != type)
    return kdl_fail(KDL_BAD_FILE, "offset 0x%" PRIx64 ": table: found an item of another type",
                    out_item->offset);
  return KDL_OK;
}

/* Finds a key of the map at the reader's position; *out_value is then at the value. */
static kdl_status kpack_find_value(kdl_msgpack reader, const char *key, kdl_msgpack *out_value,
                                   bool *out_found) {
  kdl_msgpack_item map, item;
  KDL_TRY(kpack_next_item(&reader, KDL_MSGPACK_MAP, &map));
  *out_found = false;
  for (uint64_t i = 0; i < map.count && !*out_found; ++i) {
    KDL_TRY(kpack_next_item(&reader, KDL_MSGPACK_STRING, &item));
    *out_found = kdl_msgpack_is(&item, key);
    if (!*out_found)
      KDL_TRY(kdl_msgpack_skip(&reader));
  }
  *out_value = reader;
  return KDL_OK;
}

static kdl_status kpack_read_number(kdl_msgpack reader, const char *key, uint64_t *out_number) {
  bool found;
  kdl_msgpack_item item = {.is_unsigned = false};
  KDL_TRY(kpack_find_value(reader, key, &reader, &found));
  if (found)
    KDL_TRY(kdl_msgpack_next(&reader, &item));
  if (!item.is_unsigned)
    return kdl_fail(KDL_BAD_FILE, "offset 0x%" PRIx64 ": table: found no number '%s'",
                    reader.base + reader.at, key);
  *out_number = item.value;
  return KDL_OK;
}

static kdl_status kpack_read_table(kpack *k, kdl_msgpack *out_reader) {
  uint8_t header[header_size];
  if (!kpack_read_at(k, 0, header, header_size))
    return damaged(k, "found %" PRIu64 " bytes, expected a header of 16", k->size);
  uint32_t version = kdl_load_u32(header + 4);
  uint64_t offset = kdl_load_u64(header + 8);
  if (version != newest)
    return damaged(k, "found version %" PRIu32 ", expected 1", version);
  if (offset < header_size || offset >= k->size || k->size - offset > LARGEST_TABLE)
    return damaged(k, "found the table at offset 0x%" PRIx64 " of %" PRIu64 " bytes", offset,
                   k->size);
  k->table_size = (size_t)(k->size - offset);
  k->table = xmalloc(k->table_size);
  if (!kpack_read_at(k, offset, k->table, k->table_size))
    return damaged(k, "cannot read the table of %zu bytes", k->table_size);
  *out_reader = (kdl_msgpack){k->table, k->table_size, 0, offset};
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Offsets of code objects                                                                      */

static void alloc_object_ranges(kpack *k, uint64_t count) {
  k->object_ranges = xcalloc((size_t)count, sizeof *k->object_ranges);
  k->object_count = count;
}

static kdl_status find_stored_ranges(kpack *k, kdl_msgpack reader) {
  bool found;
  kdl_msgpack_item list;
  KDL_TRY(kpack_find_value(reader, "blobs", &reader, &found));
  if (!found)
    return damaged(k, "found no 'blobs' in the table");
  KDL_TRY(kpack_next_item(&reader, KDL_MSGPACK_ARRAY, &list));
  alloc_object_ranges(k, list.count);
  for (uint64_t i = 0; i < list.count; ++i) {
    KDL_TRY(kpack_read_number(reader, "offset", &k->object_ranges[i].offset));
    KDL_TRY(kpack_read_number(reader, "size", &k->object_ranges[i].size));
    KDL_TRY(kdl_msgpack_skip(&reader));
  }
  return KDL_OK;
}

/* The frames follow a count; each has its size in front. */
static kdl_status find_frame_ranges(kpack *k, kdl_msgpack reader) {
  uint64_t at, size;
  uint8_t number[4];
  KDL_TRY(kpack_read_number(reader, "zstd_offset", &at));
  KDL_TRY(kpack_read_number(reader, "zstd_size", &size));
  if (!kdl_in_range(at, size, k->size) || size < 4 || !kpack_read_at(k, at, number, 4))
    return damaged(k, "found %" PRIu64 " bytes of frames at offset 0x%" PRIx64, size, at);
  const uint64_t end = at + size;
  uint64_t count = kdl_load_u32(number);
  if (count > size / 4)
    return damaged(k, "found %" PRIu64 " frames in %" PRIu64 " bytes", count, size);
  alloc_object_ranges(k, count);
  at += 4;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - at < 4 || !kpack_read_at(k, at, number, 4) || kdl_load_u32(number) > end - at - 4)
      return damaged(k, "found frame %" PRIu64 " beyond the end of them", i);
    k->object_ranges[i] = (object_range){at + 4, kdl_load_u32(number)};
    at += 4 + k->object_ranges[i].size;
  }
  return KDL_OK;
}

static kdl_status find_object_ranges(kpack *k, kdl_msgpack reader) {
  bool found;
  kdl_msgpack at;
  kdl_msgpack_item scheme;
  KDL_TRY(kpack_find_value(reader, "compression_scheme", &at, &found));
  if (!found)
    return find_stored_ranges(k, reader);
  KDL_TRY(kpack_next_item(&at, KDL_MSGPACK_STRING, &scheme));
  k->is_packed = kdl_msgpack_is(&scheme, "zstd-per-kernel");
  if (!k->is_packed && !kdl_msgpack_is(&scheme, "none"))
    return damaged(k, "found compression '%.*s', expected none or zstd-per-kernel",
                   scheme.count < 64 ? (int)scheme.count : 64, scheme.text);
  return k->is_packed ? find_frame_ranges(k, reader) : find_stored_ranges(k, reader);
}

/* ------------------------------------------------------------------------------------------ */
/* Code objects                                                                                 */

static kdl_status evaluate_code_object(kpack *k, const char *member, const void *data,
                                       size_t size) {
  kdl_library *lib;
  char *name = xasprintf("%s!%s", k->file.path, member);
  kdl_open_opts opts = {.size = sizeof opts, .name = name};
  kdl_status status = kdl_open_memory(data, size, &opts, &lib);
  if (status == KDL_OK)
    status = check_evaluate(k->c, lib, &k->file, member, NULL);
  free(name);
  return status;
}

static kdl_status kpack_read_frame(kpack *k, const char *member, object_range at, uint64_t size) {
  const uint64_t limit = INFLATED_BASE + k->size * INFLATED_RATIO - k->inflated;
  if (size > limit)
    return kdl_fail(KDL_BAD_FILE,
                    "found %" PRIu64 " bytes that inflate to %" PRIu64
                    ", expected at most %" PRIu64,
                    at.size, size, limit);
  k->inflated += size;
  void *packed = xmalloc((size_t)at.size), *plain = xmalloc((size_t)size);
  kdl_status status = KDL_OK;
  if (!kpack_read_at(k, at.offset, packed, at.size))
    status = damaged(k, "cannot read %" PRIu64 " bytes at offset 0x%" PRIx64, at.size, at.offset);
  if (status == KDL_OK)
    status = kdl_inflate(KDL_CODEC_ZSTD, packed, (size_t)at.size, plain, (size_t)size);
  free(packed);
  if (status == KDL_OK)
    status = evaluate_code_object(k, member, plain, (size_t)size);
  free(plain);
  return status;
}

/* The reader is at the table's entry for one code object. */
static kdl_status kpack_read_object(kpack *k, const char *member, kdl_msgpack reader) {
  uint64_t number, size = 0;
  KDL_TRY(kpack_read_number(reader, "ordinal", &number));
  if (k->is_packed)
    KDL_TRY(kpack_read_number(reader, "original_size", &size));
  if (number >= k->object_count)
    return damaged(k, "found code object %" PRIu64 " of %" PRIu64, number, k->object_count);
  object_range at = k->object_ranges[number];
  if (!kdl_in_range(at.offset, at.size, k->size))
    return damaged(k, "found code object %" PRIu64 " beyond the end", number);
  if (at.size > k->size - k->read)
    return damaged(k, "found %" PRIu64 " bytes that other members have too", at.size);
  k->read += at.size;
  if (k->is_packed)
    return kpack_read_frame(k, member, at, size);
  check_read_part(k->c, &k->file, member, NULL, at.offset, at.size);
  return KDL_OK;
}

/* Names have at most the length of paths. */
static kdl_status kpack_next_name(const kpack *k, kdl_msgpack *reader, kdl_msgpack_item *out_name) {
  KDL_TRY(kpack_next_item(reader, KDL_MSGPACK_STRING, out_name));
  return out_name->count > 4096 ? damaged(k, "found a name of %" PRIu64 " bytes", out_name->count)
                                : KDL_OK;
}

/* The code objects of one library, by architecture. */
static kdl_status kpack_read_library(kpack *k, kdl_msgpack *reader) {
  kdl_msgpack_item archs, arch;
  KDL_TRY(kpack_next_item(reader, KDL_MSGPACK_MAP, &archs));
  for (uint64_t i = 0; i < archs.count; ++i) {
    KDL_TRY(kpack_next_name(k, reader, &arch));
    char *shown = xasprintf("%s!%s@%.*s", k->file.path, k->file.set, (int)arch.count, arch.text);
    if (kpack_read_object(k, shown + strlen(k->file.path) + 1, *reader) != KDL_OK)
      check_add_error(k->c, shown, NULL);
    free(shown);
    KDL_TRY(kdl_msgpack_skip(reader));
  }
  return KDL_OK;
}

/* The map of libraries, each a map of architectures, each with its code object. */
static kdl_status kpack_read_objects(kpack *k, kdl_msgpack reader) {
  bool found;
  kdl_msgpack_item libraries, name;
  KDL_TRY(kpack_find_value(reader, "toc", &reader, &found));
  if (!found)
    return damaged(k, "found no 'toc' in the table");
  KDL_TRY(kpack_next_item(&reader, KDL_MSGPACK_MAP, &libraries));
  for (uint64_t i = 0; i < libraries.count; ++i) {
    KDL_TRY(kpack_next_name(k, &reader, &name));
    char *set = xstrndup(name.text, (size_t)name.count);
    k->file.set = set;
    kdl_status status = kpack_read_library(k, &reader);
    free(set);
    KDL_TRY(status);
  }
  return KDL_OK;
}

void check_read_kpack(check *c, const check_file *file) {
  kpack k = {.c = c, .file = *file, .size = (uint64_t)file->info.st_size};
  kdl_msgpack reader;
  k.file.is_bare_device_code = true;
  kdl_status status = kpack_read_table(&k, &reader);
  if (status == KDL_OK)
    status = find_object_ranges(&k, reader);
  if (status == KDL_OK)
    status = kpack_read_objects(&k, reader);
  if (status != KDL_OK)
    check_add_error(c, file->path, NULL);
  free(k.table);
  free(k.object_ranges);
}
