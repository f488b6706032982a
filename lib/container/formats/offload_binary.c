/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM's OffloadBinary, versions 1 to 3 (docs/formats.md has the layout).
 *
 * LLVM's own reader checks neither the image size nor the strings. This one checks every offset,
 * count and size against the binary's declared Size before use. Offsets in a binary count from its
 * own header, also in the compressed form of version 3, where everything after the header is one
 * stream: offload_layout maps such an offset to the byte's position.
 */
#include "lib/container/container.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  header_size = 32,
  header_size_v3 = 40,
  entry_size = 40,
  newest_version = 3,
  flag_metadata_only = 1 << 0,
};

typedef struct {
  uint32_t version;
  uint64_t size; /* inflated, header included */
  uint64_t entries_offset;
  uint64_t entries_count;
  kdl_region bytes;
  uint64_t shift; /* position p of the binary is at p - shift in `bytes` */
  kdl_codec codec;
  uint64_t pairs_left; /* limit for string maps, which entries do not share */
} offload_layout;

typedef struct {
  uint64_t offset;
  uint64_t size;
} range;

static const uint8_t *peek(const offload_layout *binary, uint64_t position, size_t length) {
  return kdl_region_peek(&binary->bytes, position - binary->shift, length);
}

#define malformed(binary, position, ...)                                                           \
  kdl_malformed(&(binary)->bytes, (position) - (binary)->shift, __VA_ARGS__)

static uint64_t pair_stride(const offload_layout *binary) {
  return binary->version == 1 ? 16 : 24;
}

/* ------------------------------------------------------------------------------------------ */
/* Strings                                                                                      */

/* The length of the NUL-terminated string at `position`, or a failure. A header's strings are
 * adjacent, so a short first read nearly always suffices. */
static kdl_status find_string_end(const offload_layout *binary, uint64_t position,
                                  const char *field, size_t limit, size_t *out_length) {
  size_t left = binary->size - position < limit + 1 ? (size_t)(binary->size - position) : limit + 1;
  for (size_t look = left < 64 ? left : 64;; look = left / 4 < look ? left : look * 4) {
    const uint8_t *text = peek(binary, position, look);
    if (!text)
      return kdl_error_status();
    const uint8_t *end = memchr(text, 0, look);
    if (end) {
      *out_length = (size_t)(end - text);
      return KDL_OK;
    }
    if (look == left)
      break;
  }
  if (left == limit + 1)
    return malformed(binary, position, field, "found more than %zu bytes, expected at most %zu",
                     limit, limit);
  return malformed(binary, position, field,
                   "found no terminating NUL before the binary ends at 0x%" PRIx64, binary->size);
}

static kdl_status copy_string(kdl_container *container, const offload_layout *binary,
                              uint64_t position, size_t length, kdl_string *out_string) {
  if (length == 0) {
    *out_string = (kdl_string){"", 0};
    return KDL_OK;
  }
  const uint8_t *text = peek(binary, position, length);
  if (!text)
    return kdl_error_status();
  /* Nearly every image has these keys; sharing them saves two copies per image. */
  if (length == 6 && memcmp(text, "triple", 6) == 0) {
    *out_string = (kdl_string){"triple", 6};
    return KDL_OK;
  }
  if (length == 4 && memcmp(text, "arch", 4) == 0) {
    *out_string = (kdl_string){"arch", 4};
    return KDL_OK;
  }
  *out_string = kdl_arena_string(&container->arena, text, length);
  return out_string->data ? KDL_OK : kdl_container_no_memory(container);
}

static kdl_status read_pair_key(kdl_container *container, const offload_layout *binary,
                                uint64_t position, uint64_t field_position, kdl_string *out_key) {
  if (position < binary->shift || position >= binary->size)
    return malformed(binary, field_position, "KeyOffset",
                     "found 0x%" PRIx64 ", expected less than Size 0x%" PRIx64, position,
                     binary->size);
  size_t length;
  kdl_status status = find_string_end(binary, position, "key", KDL_LIMIT_KEY, &length);
  return status == KDL_OK ? copy_string(container, binary, position, length, out_key) : status;
}

static kdl_status read_pair_value(kdl_container *container, const offload_layout *binary,
                                  uint64_t position, const uint64_t *declared_length,
                                  uint64_t field_position, kdl_string *out_value) {
  if (position < binary->shift || position >= binary->size)
    return malformed(binary, field_position, "ValueOffset",
                     "found 0x%" PRIx64 ", expected less than Size 0x%" PRIx64, position,
                     binary->size);
  size_t length;
  if (declared_length) {
    if (*declared_length > binary->size - position)
      return malformed(binary, field_position + 8, "ValueSize",
                       "found %" PRIu64 ", expected at most the %" PRIu64
                       " bytes from ValueOffset to the end",
                       *declared_length, binary->size - position);
    if (*declared_length > KDL_LIMIT_VALUE)
      return malformed(binary, field_position + 8, "ValueSize",
                       "found %" PRIu64 ", expected at most %d", *declared_length, KDL_LIMIT_VALUE);
    length = (size_t)*declared_length;
  } else {
    kdl_status status = find_string_end(binary, position, "value", KDL_LIMIT_VALUE, &length);
    if (status != KDL_OK)
      return status;
  }
  return copy_string(container, binary, position, length, out_value);
}

/* Reads the pairs of the entry at `entry_position`; `entry` is invalid afterwards. */
static kdl_status read_offload_pairs(kdl_container *container, offload_layout *binary,
                                     uint64_t entry_position, const uint8_t *entry,
                                     kdl_image *image) {
  uint64_t map = kdl_load_u64(entry + 8);
  uint64_t count = kdl_load_u64(entry + 16);
  uint64_t stride = pair_stride(binary);
  if (map > binary->size || (count && map < binary->shift))
    return malformed(binary, entry_position + 8, "StringOffset",
                     "found 0x%" PRIx64 ", expected at most Size 0x%" PRIx64, map, binary->size);
  if (count > (binary->size - map) / stride)
    return malformed(binary, entry_position + 16, "NumStrings",
                     "found %" PRIu64 ", expected at most %" PRIu64
                     ": that many pairs fit between StringOffset and the end",
                     count, (binary->size - map) / stride);
  if (count > KDL_LIMIT_PAIRS)
    return malformed(binary, entry_position + 16, "NumStrings",
                     "found %" PRIu64 ", expected at most %d", count, KDL_LIMIT_PAIRS);
  if (count > binary->pairs_left)
    return malformed(binary, entry_position + 16, "NumStrings",
                     "found %" PRIu64 ", expected at most %" PRIu64
                     ": the maps of all entries lie apart within the binary",
                     count, binary->pairs_left);
  binary->pairs_left -= count;
  if (count == 0)
    return KDL_OK;
  image->pair_count = (uint32_t)count;
  kdl_pair *pairs = kdl_arena_alloc(&container->arena, (size_t)count * sizeof *pairs);
  if (!pairs)
    return kdl_container_no_memory(container);
  image->pair_list = pairs;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = map + i * stride;
    const uint8_t *raw = peek(binary, at, (size_t)stride);
    if (!raw)
      return kdl_error_status();
    uint64_t key = kdl_load_u64(raw);
    uint64_t value = kdl_load_u64(raw + 8);
    uint64_t value_size = stride > 16 ? kdl_load_u64(raw + 16) : 0;
    kdl_status status = read_pair_key(container, binary, key, at, &pairs[i].key);
    if (status == KDL_OK)
      status = read_pair_value(container, binary, value, stride > 16 ? &value_size : NULL, at + 8,
                               &pairs[i].value);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* The image must be within the binary and not overlap its tables: no writer makes an image that
 * covers its own header, and parsing it would not end. */
static kdl_status check_image_range(const offload_layout *binary, uint64_t entry_position,
                                    uint64_t map, uint64_t map_size, range image) {
  uint64_t at = entry_position + 24;
  if (image.offset > binary->size)
    return malformed(binary, at, "ImageOffset",
                     "found 0x%" PRIx64 ", expected at most Size 0x%" PRIx64, image.offset,
                     binary->size);
  if (image.size > binary->size - image.offset)
    return malformed(binary, at + 8, "ImageSize",
                     "found %" PRIu64 ", expected at most %" PRIu64
                     ", the bytes from ImageOffset to the end",
                     image.size, binary->size - image.offset);
  if (image.size == 0)
    return KDL_OK;
  uint64_t tables_end = binary->entries_offset + binary->entries_count * entry_size;
  if (image.offset < tables_end)
    return malformed(binary, at, "ImageOffset",
                     "found 0x%" PRIx64 ", expected at least 0x%" PRIx64 ": the entries end there",
                     image.offset, tables_end);
  if (map_size && image.offset < map + map_size && map < image.offset + image.size)
    return malformed(binary, at, "ImageOffset",
                     "found 0x%" PRIx64 ", whose image overlaps the string map at 0x%" PRIx64,
                     image.offset, map);
  return KDL_OK;
}

static int compare_ranges(const void *left, const void *right) {
  const range *a = left;
  const range *b = right;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Images of one binary must not overlap. Writers store them in order; sorting is only for unusual
 * files. */
static kdl_status check_overlap(const kdl_container *container, const offload_layout *binary,
                                const range *seen, uint64_t count) {
  bool ordered = true;
  for (uint64_t i = 1; i < count && ordered; ++i)
    ordered = seen[i].offset >= seen[i - 1].offset + seen[i - 1].size;
  if (ordered)
    return KDL_OK;
  range *sorted = malloc(count * sizeof *sorted);
  if (!sorted)
    return kdl_container_no_memory(container);
  memcpy(sorted, seen, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_ranges);
  kdl_status status = KDL_OK;
  for (uint64_t i = 1; i < count && status == KDL_OK; ++i) {
    if (sorted[i].size && sorted[i].offset < sorted[i - 1].offset + sorted[i - 1].size)
      status = malformed(binary, sorted[i].offset, "ImageOffset",
                         "found an image that starts inside the one at 0x%" PRIx64
                         ", expected images apart",
                         sorted[i - 1].offset);
  }
  free(sorted);
  return status;
}

/* The range of the image of the entry at `raw`. An entry flagged as having none may have any
 * offset; LLVM's readers use the size, not the flag. */
static range image_range(const offload_layout *binary, const uint8_t *raw) {
  uint64_t size = kdl_load_u64(raw + 32);
  if (binary->version >= 2 && (kdl_load_u32(raw + 4) & flag_metadata_only) && size == 0)
    return (range){binary->entries_offset, 0};
  return (range){kdl_load_u64(raw + 24), size};
}

static kdl_status read_offload_entry(kdl_container *container, const kdl_parse_context *scope,
                                     offload_layout *binary, uint64_t index, const char *label) {
  uint64_t position = binary->entries_offset + index * entry_size;
  const uint8_t *entry = peek(binary, position, entry_size);
  if (!entry)
    return kdl_error_status();
  kdl_image image = {
      .declared_kind = kdl_load_u16(entry),
      .offload_kind = kdl_load_u16(entry + 2),
      .flags = kdl_load_u32(entry + 4),
      .header_offset = binary->bytes.base + position - binary->shift,
      .label = label,
  };
  uint64_t map = kdl_load_u64(entry + 8);
  range where = image_range(binary, entry);
  KDL_TRY(read_offload_pairs(container, binary, position, entry, &image));
  KDL_TRY(check_image_range(binary, position, map, image.pair_count * pair_stride(binary), where));
  image.source = binary->bytes.source;
  image.offset = where.size ? binary->bytes.base + where.offset - binary->shift : 0;
  image.size = image.stored_size = where.size;
  return kdl_container_add(container, scope, &image);
}

/* Checked before any image is read: shared bytes would be parsed once per image. */
static kdl_status check_images_disjoint(const kdl_container *container,
                                        const offload_layout *binary) {
  range *seen = calloc(binary->entries_count, sizeof *seen);
  kdl_status status = seen ? KDL_OK : kdl_container_no_memory(container);
  for (uint64_t i = 0; i < binary->entries_count && status == KDL_OK; ++i) {
    uint64_t position = binary->entries_offset + i * entry_size;
    const uint8_t *entry = peek(binary, position, entry_size);
    if (!entry) {
      status = kdl_error_status();
      break;
    }
    seen[i] = image_range(binary, entry);
    status = check_image_range(binary, position, 0, 0, seen[i]);
  }
  if (status == KDL_OK)
    status = check_overlap(container, binary, seen, binary->entries_count);
  free(seen);
  return status;
}

/* Adjacent binaries share their labels: formatting one costs more than reading a header. */
typedef struct {
  const char *plain[newest_version + 1];
  const char *compressed[newest_version + 1];
} label_cache;

static const char *label_for(kdl_container *container, const kdl_parse_context *scope,
                             const offload_layout *binary, label_cache *labels) {
  static const char *const v1_label[] = {NULL, "offload-binary v1", "offload-binary v2",
                                         "offload-binary v3"};
  _Static_assert(sizeof v1_label / sizeof *v1_label == newest_version + 1, "each has one");
  if (!*scope->location && !binary->shift)
    return v1_label[binary->version];
  const char **label = binary->shift ? labels->compressed : labels->plain;
  label += binary->version;
  if (!*label)
    *label = kdl_arena_format(&container->arena, "offload-binary v%" PRIu32 "%s%s", binary->version,
                              binary->shift ? " (compressed)" : "", scope->location);
  return *label;
}

static kdl_status read_offload_entries(kdl_container *container, const kdl_parse_context *scope,
                                       offload_layout *binary, label_cache *labels) {
  const char *label = label_for(container, scope, binary, labels);
  if (!label)
    return kdl_container_no_memory(container);
  kdl_status status = binary->entries_count > 1 ? check_images_disjoint(container, binary) : KDL_OK;
  binary->pairs_left = binary->size / pair_stride(binary);
  for (uint64_t i = 0; i < binary->entries_count && status == KDL_OK; ++i)
    status = read_offload_entry(container, scope, binary, i, label);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Headers                                                                                      */

/* Opens the body of a compressed version 3 binary; its bytes are inflated as they are read. */
static kdl_status open_compressed(kdl_container *container, const kdl_region *stored,
                                  uint64_t stored_size, uint64_t inflated_size,
                                  offload_layout *binary) {
  uint64_t body = binary->entries_offset;
  if (body != header_size_v3)
    return kdl_malformed(stored, 16, "EntriesOffset",
                         "found %" PRIu64 ", expected %d in a compressed binary", body,
                         header_size_v3);
  if (inflated_size < header_size_v3 || inflated_size > KDL_LIMIT_INFLATED)
    return kdl_malformed(stored, 32, "InflatedSize",
                         "found %" PRIu64 ", expected between %d and %" PRIu64, inflated_size,
                         header_size_v3, KDL_LIMIT_INFLATED);
  kdl_region packed = kdl_region_slice(stored, body, stored_size - body);
  const uint8_t *head = kdl_region_peek(&packed, 0, packed.size < 4 ? 0 : 4);
  if (!head)
    return kdl_error_status();
  bool is_zstd = packed.size >= 4 && kdl_load_u32(head) == KDL_MAGIC_ZSTD;
  binary->codec = is_zstd ? KDL_CODEC_ZSTD : KDL_CODEC_ZLIB;
  binary->shift = body;
  binary->size = inflated_size;
  return kdl_container_inflate(container, &packed, binary->codec, inflated_size - body,
                               &binary->bytes);
}

/* Without the codec, lists the binary as one image of unknown content. */
static kdl_status list_compressed_binary(kdl_container *container, const kdl_parse_context *scope,
                                         const kdl_region *stored, uint64_t stored_size,
                                         const offload_layout *binary, label_cache *labels) {
  kdl_image image = {
      .source = stored->source,
      .offset = stored->base + binary->shift,
      .stored_size = stored_size - binary->shift,
      .size = binary->size - binary->shift,
      .codec = binary->codec,
      .kind = KDL_IMAGE_OFFLOAD,
      .header_offset = stored->base,
      .label = label_for(container, scope, binary, labels),
  };
  return image.label ? kdl_container_add(container, scope, &image)
                     : kdl_container_no_memory(container);
}

static kdl_status check_entries(const kdl_region *stored, const offload_layout *binary,
                                uint64_t declared_entry_size) {
  if (binary->version == 1 &&
      (declared_entry_size < entry_size || declared_entry_size > binary->size - header_size))
    return kdl_malformed(stored, 24, "EntrySize", "found %" PRIu64 ", expected from %d to %" PRIu64,
                         declared_entry_size, entry_size, binary->size - header_size);
  uint64_t smallest = binary->version >= 3 ? header_size_v3 : header_size;
  if (binary->entries_offset < smallest || binary->entries_offset > binary->size)
    return kdl_malformed(stored, 16, binary->version == 1 ? "EntryOffset" : "EntriesOffset",
                         "found 0x%" PRIx64 ", expected from 0x%" PRIx64 " to Size 0x%" PRIx64,
                         binary->entries_offset, smallest, binary->size);
  uint64_t room = (binary->size - binary->entries_offset) / entry_size;
  if (binary->entries_count > room)
    return kdl_malformed(stored, binary->version == 1 ? 16 : 24,
                         binary->version == 1 ? "EntryOffset" : "EntriesCount",
                         "found %" PRIu64 " entries of %d bytes at 0x%" PRIx64
                         ", expected at most %" PRIu64 ": Size is 0x%" PRIx64,
                         binary->entries_count, entry_size, binary->entries_offset, room,
                         binary->size);
  if (binary->entries_count > KDL_LIMIT_IMAGES)
    return kdl_malformed(stored, 24, "EntriesCount", "found %" PRIu64 ", expected at most %d",
                         binary->entries_count, KDL_LIMIT_IMAGES);
  return KDL_OK;
}

/* Reads one binary at the start of `stored`; *out_used is its stored length. */
static kdl_status read_offload_binary(kdl_container *container, const kdl_parse_context *scope,
                                      const kdl_region *stored, label_cache *labels,
                                      uint64_t *out_used) {
  const uint8_t *header = kdl_region_header(stored, 0, "header", header_size);
  if (!header)
    return kdl_error_status();
  if (kdl_load_u32(header) != KDL_MAGIC_OFFLOAD)
    return kdl_malformed(stored, 0, "Magic", "found %02x %02x %02x %02x, expected 10 ff 10 ad",
                         header[0], header[1], header[2], header[3]);
  uint64_t size = kdl_load_u64(header + 8);
  uint64_t last_word = kdl_load_u64(header + 24);
  offload_layout binary = {
      .version = kdl_load_u32(header + 4),
      .size = size,
      .entries_offset = kdl_load_u64(header + 16),
      .entries_count = last_word,
      .bytes = *stored,
  };
  if (binary.version == 0 || binary.version > newest_version)
    return kdl_malformed(stored, 4, "Version", "found %" PRIu32 ", expected 1 to %d",
                         binary.version, newest_version);
  uint64_t smallest = binary.version >= 3 ? header_size_v3 : header_size;
  if (size < smallest || size > stored->size)
    return kdl_malformed(stored, 8, "Size",
                         "found %" PRIu64 ", expected from %" PRIu64 " to %" PRIu64
                         ", the bytes that are there",
                         size, smallest, stored->size);
  binary.bytes.size = size;
  if (binary.version == 1)
    binary.entries_count = 1;
  uint64_t inflated_size = 0;
  if (binary.version >= 3) {
    const uint8_t *tail = kdl_region_peek(stored, header_size, 8);
    if (!tail)
      return kdl_error_status();
    inflated_size = kdl_load_u64(tail);
  }
  kdl_status status = KDL_OK;
  if (inflated_size)
    status = open_compressed(container, stored, size, inflated_size, &binary);
  if (status == KDL_UNSUPPORTED) {
    *out_used = size;
    return list_compressed_binary(container, scope, stored, size, &binary, labels);
  }
  if (status == KDL_OK)
    status = check_entries(stored, &binary, last_word);
  if (status == KDL_OK)
    status = read_offload_entries(container, scope, &binary, labels);
  if (binary.shift)
    kdl_source_evict(binary.bytes.source);
  *out_used = size;
  return status;
}

kdl_status kdl_parse_offload_binary(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region) {
  /* Adjacent binaries are one module: LLVM's linker wrapper and runtimes use them together. */
  kdl_parse_context module = kdl_container_begin_module(container, scope, true);
  label_cache labels = {0};
  const char *v1_label = label_for(container, &module, &(offload_layout){.version = 1}, &labels);
  if (!v1_label)
    return kdl_container_no_memory(container);
  uint64_t offset = 0;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && offset < region->size) {
    status = kdl_parse_offload_binaries_fast(container, &module, region, v1_label, &offset);
    /* LLVM 22 writes the next binary right after Size; LLVM 23 rounds up to 8; linkers may pad. */
    if (status == KDL_OK)
      status = kdl_region_skip_zeros(region, offset, &offset);
    if (status != KDL_OK || offset == region->size)
      break;
    kdl_region rest = kdl_region_slice(region, offset, region->size - offset);
    uint64_t used = 0;
    status = read_offload_binary(container, &module, &rest, &labels, &used);
    offset += used;
  }
  return status;
}
