/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * NVIDIA's fatbin, in `.nv_fatbin` and `__nv_relfatbin` sections and .fatbin files (docs/formats.md
 * has the layout). NVIDIA does not document it. This reader is based on files made by nvcc and
 * nvFatbin in every mode, on NVIDIA's own libraries, and on cuobjdump's output for altered files.
 */
#include "lib/container/container.h"
#include "lib/image/readers.h"
#include "lib/inspect/kinds.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  known_version = 1,
  header_size = 16,
  entry_size = 64, /* without name and options, which headerSize includes */
  most_pairs = 6,
};

enum {
  flag_lz4 = 1 << 13,
  flag_zstd = 1 << 15,
  flags_packed = 0xf << 12, /* cuobjdump requires sizes with each of the four; two are unknown */
  flag_scrambled = 1 << 16, /* link-time IR that cuobjdump cannot read either */
  flag_arch_specific = 1 << 20,
  flag_family_specific = 1 << 21,
  flag_attributes = 1 << 24, /* the options are a binary table of the cubin's attributes */
};

typedef struct {
  uint64_t at; /* offset in the region */
  uint16_t kind;
  uint32_t header_size;
  uint64_t payload_size; /* padded to 8 */
  uint32_t packed_size;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t arch;
  uint32_t name_offset;
  uint32_t name_length;
  uint64_t flags;
  uint64_t inflated_size;
} fatbin_entry;

/* The state of the parser. */
typedef struct {
  kdl_container *container;
  kdl_parse_context scope; /* of the current fatbin, which is one module */
  const kdl_region *region;
  const char *label;
} fatbin_reader;

static fatbin_entry load_entry(const uint8_t *raw, uint64_t at) {
  return (fatbin_entry){
      .at = at,
      .kind = kdl_load_u16(raw),
      .header_size = kdl_load_u32(raw + 4),
      .payload_size = kdl_load_u64(raw + 8),
      .packed_size = kdl_load_u32(raw + 16),
      .options_offset = kdl_load_u32(raw + 20),
      .minor = kdl_load_u16(raw + 24),
      .major = kdl_load_u16(raw + 26),
      .arch = kdl_load_u32(raw + 28),
      .name_offset = kdl_load_u32(raw + 32),
      .name_length = kdl_load_u32(raw + 36),
      .flags = kdl_load_u64(raw + 40),
      .inflated_size = kdl_load_u64(raw + 56),
  };
}

static bool is_packed(const fatbin_entry *entry) {
  return (entry->flags & flags_packed) != 0;
}

static kdl_codec codec_of(const fatbin_entry *entry) {
  if (entry->flags & flag_scrambled)
    return KDL_CODEC_VENDOR;
  switch (entry->flags & flags_packed) {
  case 0:
    return KDL_CODEC_NONE;
  case flag_lz4:
    return KDL_CODEC_LZ4;
  case flag_zstd:
    return KDL_CODEC_ZSTD;
  default:
    return KDL_CODEC_VENDOR;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Checks                                                                                       */

static kdl_status check_entry(const kdl_region *region, const fatbin_entry *entry, uint64_t room) {
  if (entry->header_size < entry_size || entry->header_size > room)
    return kdl_malformed(region, entry->at + 4, "entry headerSize",
                         "found %" PRIu32 ", expected from %d to the %" PRIu64
                         " bytes left in the fatbin",
                         entry->header_size, entry_size, room);
  if (entry->payload_size > room - entry->header_size)
    return kdl_malformed(region, entry->at + 8, "entry payloadSize",
                         "found %" PRIu64 ", expected at most the %" PRIu64
                         " bytes left in the fatbin",
                         entry->payload_size, room - entry->header_size);
  if (!is_packed(entry))
    return KDL_OK;
  if (entry->packed_size == 0 || entry->packed_size > entry->payload_size)
    return kdl_malformed(region, entry->at + 16, "entry compressedSize",
                         "found %" PRIu32 ", expected from 1 to payloadSize %" PRIu64,
                         entry->packed_size, entry->payload_size);
  if (entry->inflated_size == 0 || entry->inflated_size > KDL_LIMIT_INFLATED)
    return kdl_malformed(region, entry->at + 56, "entry uncompressedSize",
                         "found %" PRIu64 ", expected from 1 to %" PRIu64, entry->inflated_size,
                         KDL_LIMIT_INFLATED);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Metadata                                                                                     */

typedef struct {
  kdl_pair *items;
  uint32_t count;
} pair_list;

static kdl_status put_fatbin_pair(const fatbin_reader *walk, pair_list *pairs, const char *key,
                                  const void *value, size_t length) {
  return kdl_container_append_pair(walk->container, pairs->items, &pairs->count, key, value, length)
             ? KDL_OK
             : kdl_container_no_memory(walk->container);
}

/* Adds a string of the entry's header; its offset counts from the entry's first byte. `field` and
 * `name` are the position and the name of the offset field. */
static kdl_status put_fatbin_string(const fatbin_reader *walk, const fatbin_entry *entry,
                                    pair_list *pairs, const char *key, uint64_t field,
                                    const char *name, uint32_t offset, uint32_t length) {
  if (!kdl_in_range(offset, length, entry->header_size))
    return kdl_malformed(walk->region, field, name,
                         "found %" PRIu32 " bytes at 0x%" PRIx32
                         ", expected them within headerSize 0x%" PRIx32,
                         length, offset, entry->header_size);
  if (length > KDL_LIMIT_VALUE)
    return kdl_malformed(walk->region, field, name, "found %" PRIu32 " bytes, expected at most %d",
                         length, KDL_LIMIT_VALUE);
  const uint8_t *text = kdl_region_peek(walk->region, entry->at + offset, length);
  return text ? put_fatbin_pair(walk, pairs, key, text, length) : kdl_error_status();
}

/* Adds the options for ptxas or the link-time compiler. */
static kdl_status put_fatbin_options(const fatbin_reader *walk, const fatbin_entry *entry,
                                     pair_list *pairs) {
  uint64_t at = entry->at + entry->options_offset;
  if (!kdl_in_range(entry->options_offset, 8, entry->header_size))
    return kdl_malformed(walk->region, entry->at + 20, "entry options",
                         "found 0x%" PRIx32 ", expected 8 bytes there within headerSize 0x%" PRIx32,
                         entry->options_offset, entry->header_size);
  const uint8_t *raw = kdl_region_peek(walk->region, at, 8);
  if (!raw)
    return kdl_error_status();
  uint32_t offset = kdl_load_u32(raw);
  uint32_t length = kdl_load_u32(raw + 4);
  return put_fatbin_string(walk, entry, pairs, "kdl.options", at, "entry options string", offset,
                           length);
}

static kdl_status read_fatbin_pairs(const fatbin_reader *walk, const fatbin_entry *entry,
                                    kdl_image *image) {
  static const char triple[] = "nvptx64-nvidia-cuda";
  pair_list pairs = {.items =
                         kdl_arena_alloc(&walk->container->arena, most_pairs * sizeof(kdl_pair))};
  if (!pairs.items)
    return kdl_container_no_memory(walk->container);
  pairs.items[pairs.count++] = (kdl_pair){{"triple", 6}, {triple, sizeof triple - 1}};
  char text[32];
  const char *suffix = entry->flags & flag_arch_specific     ? "a"
                       : entry->flags & flag_family_specific ? "f"
                                                             : "";
  int length = snprintf(text, sizeof text, "sm_%" PRIu32 "%s", entry->arch, suffix);
  kdl_status status = put_fatbin_pair(walk, &pairs, "arch", text, (size_t)length);
  if (status == KDL_OK && image->kind == KDL_IMAGE_UNKNOWN) {
    length = snprintf(text, sizeof text, "0x%x", entry->kind);
    status = put_fatbin_pair(walk, &pairs, "kdl.kind", text, (size_t)length);
  }
  const char *version_key = kdl_image_kind_get(image->kind)->version_key;
  if (status == KDL_OK && version_key) {
    bool in_one_field = image->kind == KDL_IMAGE_TILEIR;
    length = snprintf(text, sizeof text, "%u.%u", in_one_field ? entry->major >> 8 : entry->major,
                      in_one_field ? entry->major & 0xff : entry->minor);
    status = put_fatbin_pair(walk, &pairs, version_key, text, (size_t)length);
  }
  if (status == KDL_OK && entry->name_offset)
    status = put_fatbin_string(walk, entry, &pairs, "kdl.source_name", entry->at + 32, "entry name",
                               entry->name_offset, entry->name_length);
  if (status == KDL_OK && entry->options_offset && !(entry->flags & flag_attributes))
    status = put_fatbin_options(walk, entry, &pairs);
  image->pair_list = pairs.items;
  image->pair_count = pairs.count;
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Entries                                                                                      */

/* PTX is stored as a C string with its NUL, padded to 8. The image is the text alone, as cuobjdump
 * extracts it. (A stored cubin needs no trimming: NVIDIA's tools write ELF files of multiples of 8
 * bytes, and zeros after others are harmless.) */
static kdl_status trim_ptx(const kdl_region *region, uint64_t payload, kdl_image *image) {
  size_t look = image->size < 8 ? (size_t)image->size : 8;
  const uint8_t *end = kdl_region_peek(region, payload + image->size - look, look);
  if (!end)
    return kdl_error_status();
  while (look && end[look - 1] == 0) {
    --look;
    --image->size;
  }
  image->stored_size = image->size;
  return KDL_OK;
}

static kdl_status locate_payload(const kdl_region *region, const fatbin_entry *entry,
                                 kdl_image *image) {
  uint64_t payload = entry->at + entry->header_size;
  image->source = region->source;
  image->offset = region->base + payload;
  image->codec = codec_of(entry);
  if (is_packed(entry)) {
    image->stored_size = entry->packed_size;
    image->size = entry->inflated_size;
    if (image->kind == KDL_IMAGE_PTX) { /* the size includes the NUL */
      image->trailer = 1;
      image->size -= 1;
    }
    return KDL_OK;
  }
  image->size = image->stored_size = entry->payload_size;
  return image->kind == KDL_IMAGE_PTX ? trim_ptx(region, payload, image) : KDL_OK;
}

static kdl_status read_fatbin_entry(const fatbin_reader *walk, const fatbin_entry *entry) {
  kdl_image_kind kind = kdl_image_kind_of_fatbin(entry->kind);
  kdl_image image = {
      .kind = kind,
      .declared_kind = kdl_llvm_image_kind(kind),
      .offload_kind = KDL_OFFLOAD_CUDA,
      .header_offset = walk->region->base + entry->at,
      .label = walk->label,
  };
  kdl_status status = locate_payload(walk->region, entry, &image);
  if (status == KDL_OK)
    status = read_fatbin_pairs(walk, entry, &image);
  return status == KDL_OK ? kdl_container_add(walk->container, &walk->scope, &image) : status;
}

static kdl_status read_fatbin_entries(const fatbin_reader *walk, uint64_t at, uint64_t end) {
  while (at < end) {
    if (end - at < entry_size)
      return kdl_malformed(walk->region, at, "entry",
                           "found %" PRIu64 " bytes left in the fatbin, expected at least %d",
                           end - at, entry_size);
    const uint8_t *raw = kdl_region_peek(walk->region, at, entry_size);
    if (!raw)
      return kdl_error_status();
    fatbin_entry entry = load_entry(raw, at);
    kdl_status status = check_entry(walk->region, &entry, end - at);
    if (status == KDL_OK)
      status = read_fatbin_entry(walk, &entry);
    if (status != KDL_OK)
      return status;
    at += entry.header_size + entry.payload_size;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Fatbins                                                                                      */

/* Checks the header at `at`; its entries are from *out_first to *out_end. */
static kdl_status read_fatbin_header(const kdl_region *region, uint64_t at, uint64_t *out_first,
                                     uint64_t *out_end) {
  uint64_t room = region->size - at;
  const uint8_t *raw = kdl_region_header(region, at, "header", header_size);
  if (!raw)
    return kdl_error_status();
  uint32_t found_magic = kdl_load_u32(raw);
  uint32_t version = kdl_load_u16(raw + 4);
  uint32_t size = kdl_load_u16(raw + 6);
  uint64_t body = kdl_load_u64(raw + 8);
  if (found_magic != KDL_MAGIC_FATBIN)
    return kdl_malformed(region, at, "magic", "found 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                         found_magic, KDL_MAGIC_FATBIN);
  if (version != known_version)
    return kdl_malformed(region, at + 4, "version", "found %" PRIu32 ", expected %d", version,
                         known_version);
  if (size < header_size || size > room)
    return kdl_malformed(region, at + 6, "headerSize",
                         "found %" PRIu32 ", expected from %d to the %" PRIu64
                         " bytes that are there",
                         size, header_size, room);
  if (body > room - size)
    return kdl_malformed(region, at + 8, "fatSize",
                         "found %" PRIu64 ", expected at most %" PRIu64
                         ", the bytes after the header",
                         body, room - size);
  *out_first = at + size;
  *out_end = at + size + body;
  return KDL_OK;
}

/* Whether the entry may be one of a compiler. */
static bool is_plausible(const fatbin_entry *entry, uint64_t room) {
  enum { largest_header = 1 << 20, largest_arch = 999 };
  bool is_kind = entry->kind && !(entry->kind & (entry->kind - 1)); /* one bit, perhaps unknown */
  return is_kind && entry->header_size >= entry_size && entry->header_size <= largest_header &&
         entry->header_size <= room && entry->payload_size <= room - entry->header_size &&
         entry->arch && entry->arch <= largest_arch &&
         (!is_packed(entry) || (entry->packed_size && entry->packed_size <= entry->payload_size &&
                                entry->inflated_size));
}

kdl_status kdl_cuda_fatbin_measure(const kdl_region *region, uint64_t *budget, uint64_t *out_size) {
  *out_size = 0;
  if (region->size < header_size + entry_size)
    return KDL_OK;
  const uint8_t *raw = kdl_region_peek(region, 0, header_size);
  if (!raw)
    return kdl_error_status();
  uint64_t body = kdl_load_u64(raw + 8);
  if (kdl_load_u32(raw) != KDL_MAGIC_FATBIN || kdl_load_u16(raw + 4) != known_version ||
      kdl_load_u16(raw + 6) != header_size || body < entry_size ||
      body > region->size - header_size)
    return KDL_OK;
  uint64_t end = header_size + body;
  for (uint64_t at = header_size; at != end;) {
    if (end - at < entry_size || *budget == 0)
      return KDL_OK;
    --*budget;
    raw = kdl_region_peek(region, at, entry_size);
    if (!raw)
      return kdl_error_status();
    fatbin_entry entry = load_entry(raw, at);
    if (!is_plausible(&entry, end - at))
      return KDL_OK;
    at += entry.header_size + entry.payload_size;
  }
  *out_size = end;
  return KDL_OK;
}

kdl_status kdl_parse_cuda_fatbin(kdl_container *container, const kdl_parse_context *scope,
                                 const kdl_region *region) {
  fatbin_reader walk = {container, *scope, region,
                        kdl_arena_format(&container->arena, "cuda-fatbin%s", scope->location)};
  if (!walk.label)
    return kdl_container_no_memory(container);
  uint64_t at = 0;
  while (at < region->size) {
    uint64_t first;
    uint64_t end;
    kdl_status status = read_fatbin_header(region, at, &first, &end);
    walk.scope = kdl_container_begin_module(container, scope, at == 0);
    if (status == KDL_OK)
      status = read_fatbin_entries(&walk, first, end);
    if (status == KDL_OK)
      status = kdl_region_skip_zeros(region, end, &at);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

kdl_status kdl_parse_cuda_relfatbin(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region) {
  kdl_parse_context inner = *scope;
  inner.is_link_input = true;
  return kdl_parse_cuda_fatbin(container, &inner, region);
}
