/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/cache/entry.h"

#include "support/base/bytes.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'K', 'D', 'L', 'C', 'A', 'C', 'H', 'E'};

enum {
  offset_version = 8,
  offset_kind = 12,
  offset_link_key_size = 16,
  offset_notes_size = 20,
  offset_image_size = 24,
  offset_digest = 32,
};

static kdl_digest entry_digest(const uint8_t *data, size_t size) {
  kdl_blake2b hash;
  kdl_blake2b_start(&hash);
  kdl_blake2b_add(&hash, data, offset_digest);
  kdl_blake2b_add(&hash, data + KDL_CACHE_HEADER, size - KDL_CACHE_HEADER);
  return kdl_blake2b_finish(&hash);
}

static kdl_status check_entry_sizes(const uint8_t *data, size_t size) {
  uint64_t link_key = kdl_load_u32(data + offset_link_key_size);
  uint64_t notes = kdl_load_u32(data + offset_notes_size);
  uint64_t image = kdl_load_u64(data + offset_image_size);
  if (link_key > KDL_CACHE_LIMIT_TEXT || notes > KDL_CACHE_LIMIT_TEXT ||
      image > KDL_CACHE_LIMIT_IMAGE)
    return kdl_fail(KDL_BAD_FILE,
                    "offset %d: found sizes of %" PRIu64 ", %" PRIu64 " and %" PRIu64
                    " bytes, expected at most %d, %d and %" PRIu64,
                    offset_link_key_size, link_key, notes, image, KDL_CACHE_LIMIT_TEXT,
                    KDL_CACHE_LIMIT_TEXT, KDL_CACHE_LIMIT_IMAGE);
  uint64_t expected_size = KDL_CACHE_HEADER + link_key + notes + image;
  if (expected_size != size)
    return kdl_fail(KDL_BAD_FILE, "found %zu bytes, expected %" PRIu64 " as its header says", size,
                    expected_size);
  return KDL_OK;
}

kdl_status kdl_cache_entry_parse(const void *bytes, size_t size, kdl_cache_entry *out_entry) {
  const uint8_t *data = bytes;
  if (size < KDL_CACHE_HEADER)
    return kdl_fail(KDL_BAD_FILE, "found %zu bytes, expected a header of %d", size,
                    KDL_CACHE_HEADER);
  if (memcmp(data, magic, sizeof magic) != 0)
    return kdl_fail(KDL_BAD_FILE, "offset 0: found no \"%.8s\"", magic);
  uint32_t version = kdl_load_u32(data + offset_version);
  if (version != KDL_CACHE_VERSION)
    return kdl_fail(KDL_BAD_FILE, "offset %d: found version %" PRIu32 ", expected %d",
                    offset_version, version, KDL_CACHE_VERSION);
  KDL_TRY(check_entry_sizes(data, size));
  kdl_digest digest = entry_digest(data, size);
  if (memcmp(digest.bytes, data + offset_digest, sizeof digest.bytes) != 0)
    return kdl_fail(KDL_BAD_FILE, "offset %d: found a digest that is not that of its contents",
                    offset_digest);
  const char *text = (const char *)data + KDL_CACHE_HEADER;
  size_t link_key = kdl_load_u32(data + offset_link_key_size);
  size_t notes = kdl_load_u32(data + offset_notes_size);
  *out_entry = (kdl_cache_entry){
      .link_key = {text, link_key},
      .notes = {text + link_key, notes},
      .kind = (kdl_image_kind)kdl_load_u32(data + offset_kind),
      .image = text + link_key + notes,
      .image_size = (size_t)kdl_load_u64(data + offset_image_size),
  };
  return KDL_OK;
}

kdl_status kdl_cache_entry_serialize(const kdl_cache_entry *entry, void **out_data,
                                     size_t *out_size) {
  if (entry->link_key.length > KDL_CACHE_LIMIT_TEXT || entry->notes.length > KDL_CACHE_LIMIT_TEXT ||
      entry->image_size > KDL_CACHE_LIMIT_IMAGE)
    return kdl_fail(KDL_NO_MEMORY, "an image of %zu bytes is too large for the cache",
                    entry->image_size);
  size_t size = KDL_CACHE_HEADER + entry->link_key.length + entry->notes.length + entry->image_size;
  uint8_t *data = calloc(1, size);
  if (!data)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for a cache entry of %zu bytes", size);
  memcpy(data, magic, sizeof magic);
  kdl_store_u32(data + offset_version, KDL_CACHE_VERSION);
  kdl_store_u32(data + offset_kind, (uint32_t)entry->kind);
  kdl_store_u32(data + offset_link_key_size, (uint32_t)entry->link_key.length);
  kdl_store_u32(data + offset_notes_size, (uint32_t)entry->notes.length);
  kdl_store_u64(data + offset_image_size, entry->image_size);
  uint8_t *at = data + KDL_CACHE_HEADER;
  memcpy(at, entry->link_key.data, entry->link_key.length);
  at += entry->link_key.length;
  if (entry->notes.length)
    memcpy(at, entry->notes.data, entry->notes.length);
  at += entry->notes.length;
  if (entry->image_size)
    memcpy(at, entry->image, entry->image_size);
  kdl_digest digest = entry_digest(data, size);
  memcpy(data + offset_digest, digest.bytes, sizeof digest.bytes);
  *out_data = data;
  *out_size = size;
  return KDL_OK;
}

bool kdl_cache_field(kdl_string text, const char *word, size_t nth, kdl_string *out_value) {
  size_t length = strlen(word);
  const char *end = text.data + text.length;
  for (const char *line = text.data; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    stop = stop ? stop : end;
    bool fits =
        (size_t)(stop - line) > length && memcmp(line, word, length) == 0 && line[length] == ' ';
    if (fits && nth-- == 0) {
      *out_value = (kdl_string){line + length + 1, (size_t)(stop - line) - length - 1};
      return true;
    }
    line = stop < end ? stop + 1 : end;
  }
  return false;
}
