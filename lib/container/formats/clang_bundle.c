/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The bundles of clang-offload-bundler, plain and compressed ("CCOB", versions 1 to 3), in
 * `.hip_fatbin` sections and .hipfb files, often many back to back (docs/formats.md has the
 * layouts). A plain bundle does not store its length: it ends with its last code object.
 */
#include "lib/container/container.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "support/base/text.h"

#include <inttypes.h>
#include <string.h>

static const char plain_magic[] = KDL_MAGIC_BUNDLE;

enum {
  plain_magic_size = sizeof plain_magic - 1,
  packed_magic_size = 4,
  header_size = plain_magic_size + 8,
  entry_size = 24, /* without its ID */
  most_pairs = 3,
};

typedef struct {
  uint64_t at;
  uint64_t offset; /* of the code object, from the start of the bundle */
  uint64_t size;
  uint64_t id_length;
} bundle_entry;

/* ------------------------------------------------------------------------------------------ */
/* Entry IDs                                                                                    */

static const struct {
  const char *name;
  uint16_t offload_kind;
} offload_kinds[] = {
    {"host", KDL_OFFLOAD_NONE},     {"hip", KDL_OFFLOAD_HIP},
    {"hipv4", KDL_OFFLOAD_HIP}, /* code object version 4 or later */
    {"openmp", KDL_OFFLOAD_OPENMP}, {"cuda", KDL_OFFLOAD_CUDA},
    {"sycl", KDL_OFFLOAD_SYCL},
};

typedef struct {
  kdl_string kind;
  kdl_string triple;
  kdl_string arch;
} bundle_id;

/* Cuts `rest` at its first dash. */
static kdl_string split_field(kdl_string *rest) {
  const char *dash = memchr(rest->data, '-', rest->length);
  size_t length = dash ? (size_t)(dash - rest->data) : rest->length;
  kdl_string field = {rest->data, length};
  size_t skip = dash ? length + 1 : length;
  *rest = (kdl_string){rest->data + skip, rest->length - skip};
  return field;
}

/* "KIND-TRIPLE[-TARGET]", where the triple has four fields, the last one mostly empty:
 * "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-". ROCm 4 and earlier left the fourth field out. */
static bundle_id split_id(kdl_string id) {
  kdl_string rest = id;
  bundle_id parts = {.kind = split_field(&rest)};
  parts.triple.data = rest.data;
  for (int field = 0; field < 3; ++field)
    split_field(&rest);
  if (!kdl_text_starts(rest, "gfx") && !kdl_text_starts(rest, "sm_"))
    split_field(&rest);
  parts.arch = rest;
  parts.triple.length = (size_t)(rest.data - parts.triple.data);
  while (parts.triple.length && parts.triple.data[parts.triple.length - 1] == '-')
    --parts.triple.length;
  return parts;
}

static kdl_status read_bundle_id(kdl_container *container, const kdl_region *bundle,
                                 const bundle_entry *entry, kdl_string *out_id) {
  const uint8_t *text = kdl_region_peek(bundle, entry->at + entry_size, (size_t)entry->id_length);
  if (!text)
    return kdl_error_status();
  *out_id = kdl_arena_string(&container->arena, text, (size_t)entry->id_length);
  return out_id->data ? KDL_OK : kdl_container_no_memory(container);
}

static const kdl_pair *make_bundle_pairs(kdl_container *container, kdl_string id,
                                         const bundle_id *parts, uint32_t *out_count) {
  kdl_pair *pairs = kdl_arena_alloc(&container->arena, most_pairs * sizeof *pairs);
  *out_count = 0;
  bool fits =
      pairs &&
      kdl_container_append_pair(container, pairs, out_count, "triple", parts->triple.data,
                                parts->triple.length) &&
      kdl_container_append_pair(container, pairs, out_count, "arch", parts->arch.data,
                                parts->arch.length) &&
      kdl_container_append_pair(container, pairs, out_count, "kdl.bundle_id", id.data, id.length);
  return fits ? pairs : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Plain bundles                                                                                */

static kdl_status read_table_entry(const kdl_region *bundle, uint64_t at, bundle_entry *out_entry) {
  if (!kdl_in_range(at, entry_size, bundle->size))
    return kdl_malformed(bundle, at, "bundle entry",
                         "found %" PRIu64 " bytes left in the bundle, expected at least %d",
                         at < bundle->size ? bundle->size - at : 0, entry_size);
  const uint8_t *raw = kdl_region_peek(bundle, at, entry_size);
  if (!raw)
    return kdl_error_status();
  *out_entry = (bundle_entry){at, kdl_load_u64(raw), kdl_load_u64(raw + 8), kdl_load_u64(raw + 16)};
  uint64_t room = bundle->size - at - entry_size;
  if (room > KDL_LIMIT_KEY)
    room = KDL_LIMIT_KEY;
  if (out_entry->id_length > room)
    return kdl_malformed(bundle, at + 16, "bundle entry ID length",
                         "found %" PRIu64 ", expected at most %" PRIu64, out_entry->id_length,
                         room);
  return KDL_OK;
}

/* Code objects must follow the table in the order of their entries: overlapping ones would list the
 * same bytes many times. `free_from` is the end of the preceding one. */
static kdl_status check_code_object(const kdl_region *bundle, const bundle_entry *entry,
                                    uint64_t free_from) {
  if (entry->size == 0)
    return KDL_OK;
  if (entry->offset < free_from || entry->offset > bundle->size)
    return kdl_malformed(bundle, entry->at, "code object offset",
                         "found 0x%" PRIx64 ", expected from 0x%" PRIx64
                         ", the end of what lies before it, to 0x%" PRIx64,
                         entry->offset, free_from, bundle->size);
  if (entry->size > bundle->size - entry->offset)
    return kdl_malformed(bundle, entry->at + 8, "code object size",
                         "found %" PRIu64 ", expected at most %" PRIu64
                         ", the bytes from its offset to the end",
                         entry->size, bundle->size - entry->offset);
  return KDL_OK;
}

/* The assumed kind of an image in a compressed bundle that is not inflated yet: that of the
 * preceding image, if the triple is the same. The bundler bundles files of one type. */
static kdl_image_kind kind_of_sibling(const kdl_container *container, uint32_t first,
                                      kdl_string triple) {
  if (container->count == first)
    return KDL_IMAGE_UNKNOWN;
  const kdl_image *last = &container->images[container->count - 1];
  return kdl_text_equal(last->triple, triple) ? last->kind : KDL_IMAGE_UNKNOWN;
}

/* Adds the image of a bundle ID; `image` has its location. */
static kdl_status add_bundle_image(kdl_container *container, const kdl_parse_context *scope,
                                   kdl_string id, const bundle_id *parts, kdl_image *image) {
  for (size_t i = 0; i < sizeof offload_kinds / sizeof *offload_kinds; ++i) {
    if (kdl_text_is(parts->kind, offload_kinds[i].name))
      image->offload_kind = offload_kinds[i].offload_kind;
  }
  image->pair_list = make_bundle_pairs(container, id, parts, &image->pair_count);
  if (!image->pair_list)
    return kdl_container_no_memory(container);
  return kdl_container_add(container, scope, image);
}

static kdl_status add_bundle_entry(kdl_container *container, const kdl_parse_context *scope,
                                   const kdl_region *bundle, const bundle_entry *entry,
                                   uint32_t first, const char *label) {
  kdl_string id;
  KDL_TRY(read_bundle_id(container, bundle, entry, &id));
  bundle_id parts = split_id(id);
  /* Every HIP bundle begins with an empty entry for the host, which is no image. */
  if (entry->size == 0 && kdl_text_is(parts.kind, "host"))
    return KDL_OK;
  kdl_image image = {
      .source = bundle->source,
      .offset = entry->size ? bundle->base + entry->offset : bundle->base,
      .stored_size = entry->size,
      .size = entry->size,
      .header_offset = bundle->base + entry->at,
      .label = label,
  };
  if (bundle->source->codec != KDL_CODEC_NONE)
    image.kind = kind_of_sibling(container, first, parts.triple);
  return add_bundle_image(container, scope, id, &parts, &image);
}

/* *out_used is the length of the bundle at the start of `bundle`. */
static kdl_status parse_uncompressed(kdl_container *container, const kdl_parse_context *scope,
                                     const kdl_region *bundle, const char *label,
                                     uint64_t *out_used) {
  const uint8_t *header = kdl_region_header(bundle, 0, "bundle header", header_size);
  if (!header)
    return kdl_error_status();
  if (memcmp(header, plain_magic, plain_magic_size) != 0)
    return kdl_malformed(bundle, 0, "bundle magic",
                         "found %02x %02x %02x %02x ..., expected \"%s\"", header[0], header[1],
                         header[2], header[3], plain_magic);
  uint64_t count = kdl_load_u64(header + plain_magic_size);
  uint64_t room = (bundle->size - header_size) / entry_size;
  if (count > room || count > KDL_LIMIT_IMAGES)
    return kdl_malformed(bundle, plain_magic_size, "number of bundle entries",
                         "found %" PRIu64 ", expected at most %" PRIu64, count,
                         room < KDL_LIMIT_IMAGES ? room : (uint64_t)KDL_LIMIT_IMAGES);
  bundle_entry entry;
  uint64_t table_end = header_size;
  for (uint64_t i = 0; i < count; ++i) {
    kdl_status status = read_table_entry(bundle, table_end, &entry);
    if (status != KDL_OK)
      return status;
    table_end += entry_size + entry.id_length;
  }
  uint64_t end = table_end;
  uint32_t first = container->count;
  for (uint64_t i = 0, at = header_size; i < count; ++i, at += entry_size + entry.id_length) {
    kdl_status status = read_table_entry(bundle, at, &entry);
    if (status == KDL_OK)
      status = check_code_object(bundle, &entry, end);
    if (status == KDL_OK)
      status = add_bundle_entry(container, scope, bundle, &entry, first, label);
    if (status != KDL_OK)
      return status;
    if (entry.size)
      end = entry.offset + entry.size;
  }
  *out_used = end;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Compressed bundles                                                                           */

enum { newest_version = 3, packed_header_size_v1 = 20 };

/* Version 1 does not store its length. */
static const struct {
  uint8_t header_size;
  uint8_t total_at;
  uint8_t inflated_at;
  uint8_t width; /* of both fields */
} versions[newest_version + 1] = {
    [1] = {packed_header_size_v1, 0, 8, 4},
    [2] = {24, 8, 12, 4},
    [3] = {32, 8, 16, 8},
};

static const kdl_codec codecs[] = {KDL_CODEC_ZLIB, KDL_CODEC_ZSTD};
enum { codec_count = sizeof codecs / sizeof *codecs };

typedef struct {
  uint32_t version;
  kdl_codec codec;
  uint64_t total;
  uint64_t inflated_size;
} packed_header;

static uint64_t load_field(const uint8_t *at, uint8_t width) {
  return width == 8 ? kdl_load_u64(at) : kdl_load_u32(at);
}

/* The end of the version 1 bundle at the start of `data`: the next compressed one, or the end. Four
 * bytes of magic occur in compressed data by chance, so the fields after them must be valid too.
 * The magic of a plain bundle is no sign: the stream may contain that of its own bundle
 * uncompressed. */
static size_t find_end_v1(const uint8_t *data, size_t size) {
  const uint8_t *at = data + packed_magic_size;
  const uint8_t *end = data + size;
  while ((at = memmem(at, (size_t)(end - at), data, packed_magic_size)) != NULL) {
    if (end - at >= packed_header_size_v1 && kdl_load_u16(at + 4) >= 1 &&
        kdl_load_u16(at + 4) <= newest_version && kdl_load_u16(at + 6) < codec_count)
      return (size_t)(at - data);
    ++at;
  }
  return size;
}

static kdl_status measure_v1(const kdl_region *bundle, uint64_t *out_total) {
  const void *data;
  KDL_TRY(kdl_source_view(bundle->source, bundle->base, bundle->size, &data));
  *out_total = find_end_v1(data, (size_t)bundle->size);
  return KDL_OK;
}

static kdl_status read_packed_header(const kdl_region *bundle, packed_header *out_header) {
  const uint8_t *raw =
      kdl_region_header(bundle, 0, "compressed bundle header", packed_header_size_v1);
  if (!raw)
    return kdl_error_status();
  uint32_t version = kdl_load_u16(raw + 4);
  uint32_t method = kdl_load_u16(raw + 6);
  if (version == 0 || version > newest_version)
    return kdl_malformed(bundle, 4, "compressed bundle version",
                         "found %" PRIu32 ", expected 1 to %d", version, newest_version);
  if (method >= codec_count)
    return kdl_malformed(bundle, 6, "compression method",
                         "found %" PRIu32 ", expected 0 (zlib) or 1 (zstd)", method);
  uint64_t smallest = versions[version].header_size;
  if (bundle->size < smallest)
    return kdl_malformed(bundle, 0, "compressed bundle header",
                         "found %" PRIu64 " bytes, expected at least %" PRIu64, bundle->size,
                         smallest);
  raw = kdl_region_peek(bundle, 0, (size_t)smallest);
  if (!raw)
    return kdl_error_status();
  uint8_t width = versions[version].width;
  *out_header = (packed_header){
      .version = version,
      .codec = codecs[method],
      .total = load_field(raw + versions[version].total_at, width),
      .inflated_size = load_field(raw + versions[version].inflated_at, width),
  };
  KDL_TRY(version == 1 ? measure_v1(bundle, &out_header->total) : KDL_OK);
  if (out_header->total < smallest || out_header->total > bundle->size)
    return kdl_malformed(bundle, versions[version].total_at, "total size",
                         "found %" PRIu64 ", expected from %" PRIu64 " to %" PRIu64
                         ", the bytes that are there",
                         out_header->total, smallest, bundle->size);
  if (out_header->inflated_size < header_size || out_header->inflated_size > KDL_LIMIT_INFLATED)
    return kdl_malformed(bundle, versions[version].inflated_at, "uncompressed size",
                         "found %" PRIu64 ", expected from %d to %" PRIu64,
                         out_header->inflated_size, header_size, KDL_LIMIT_INFLATED);
  return KDL_OK;
}

/* Without the codec, lists the bundle as one image of unknown content. */
static kdl_status list_compressed_bundle(kdl_container *container, const kdl_parse_context *scope,
                                         const kdl_region *bundle, const kdl_region *packed,
                                         const packed_header *header, const char *label) {
  kdl_image image = {
      .source = packed->source,
      .offset = packed->base,
      .stored_size = packed->size,
      .size = header->inflated_size,
      .codec = header->codec,
      .kind = KDL_IMAGE_BUNDLE,
      .header_offset = bundle->base,
      .label = label,
  };
  return kdl_container_add(container, scope, &image);
}

static kdl_status parse_compressed(kdl_container *container, const kdl_parse_context *scope,
                                   const kdl_region *bundle, uint64_t *out_used) {
  packed_header header;
  KDL_TRY(read_packed_header(bundle, &header));
  *out_used = header.total;
  const char *label =
      kdl_arena_format(&container->arena, "clang-bundle (compressed v%" PRIu32 ", %s)%s",
                       header.version, kdl_codec_name(header.codec), scope->location);
  if (!label)
    return kdl_container_no_memory(container);
  uint64_t body = versions[header.version].header_size;
  kdl_region packed = kdl_region_slice(bundle, body, header.total - body);
  kdl_region inflated;
  kdl_status status =
      kdl_container_inflate(container, &packed, header.codec, header.inflated_size, &inflated);
  if (status == KDL_UNSUPPORTED)
    return list_compressed_bundle(container, scope, bundle, &packed, &header, label);
  if (status != KDL_OK)
    return status;
  uint64_t inner_used;
  status = parse_uncompressed(container, scope, &inflated, label, &inner_used);
  kdl_source_evict(inflated.source);
  return status;
}

kdl_status kdl_parse_clang_bundle(kdl_container *container, const kdl_parse_context *scope,
                                  const kdl_region *region) {
  const char *label = kdl_arena_format(&container->arena, "clang-bundle%s", scope->location);
  if (!label)
    return kdl_container_no_memory(container);
  uint64_t at = 0;
  while (at < region->size) {
    kdl_region rest = kdl_region_slice(region, at, region->size - at);
    size_t look = rest.size < packed_magic_size ? 0 : packed_magic_size;
    const uint8_t *head = kdl_region_peek(&rest, 0, look);
    if (!head)
      return kdl_error_status();
    uint64_t used = 0;
    kdl_parse_context module = kdl_container_begin_module(container, scope, at == 0);
    kdl_status status = look && kdl_load_u32(head) == KDL_MAGIC_PACKED_BUNDLE
                            ? parse_compressed(container, &module, &rest, &used)
                            : parse_uncompressed(container, &module, &rest, label, &used);
    if (status == KDL_OK)
      status = kdl_region_skip_zeros(region, at + used, &at);
    if (status != KDL_OK)
      return status;
  }
  return KDL_OK;
}

kdl_status kdl_container_add_bundled(kdl_container *container, const kdl_parse_context *scope,
                                     kdl_string id, kdl_image *image) {
  bundle_id parts = split_id(id);
  return add_bundle_image(container, scope, id, &parts, image);
}

kdl_status kdl_parse_bundle_section(kdl_container *container, const kdl_parse_context *scope,
                                    const kdl_region *region, kdl_string id) {
  bundle_id parts = split_id(id);
  /* The host's image is the object itself; its section has one byte, because none may be empty. */
  if (kdl_text_is(parts.kind, "host"))
    return KDL_OK;
  kdl_image image = kdl_image_of_region(region);
  image.label = kdl_arena_format(&container->arena, "clang-bundle%s", scope->location);
  if (!image.label)
    return kdl_container_no_memory(container);
  return add_bundle_image(container, scope, id, &parts, &image);
}
