/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang's compressed bundles ("CCOB", docs/formats.md): inflates them, and compresses them again in
 * the same way with fewer images. */
#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "pack/thin/containers.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"
#include "tools/common/digests/digests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { newest_version = 3, hash_size = 8, skippable_header = 8 };

static const struct {
  uint8_t header_size, total_at, inflated_at, width, hash_at;
} versions[newest_version + 1] = {
    [1] = {20, 0, 8, 4, 12},
    [2] = {24, 8, 12, 4, 16},
    [3] = {32, 8, 16, 8, 24},
};

/* The version of the bundle whose header ends at an offset, or 0. */
static unsigned version_before(const uint8_t *data, uint64_t body) {
  for (unsigned version = 1; version <= newest_version; ++version) {
    uint64_t size = versions[version].header_size;
    if (body >= size && kdl_load_u32(data + body - size) == KDL_MAGIC_PACKED_BUNDLE &&
        kdl_load_u16(data + body - size + 4) == version)
      return version;
  }
  return 0;
}

bool thin_compressed_bundle_match(const thin_input *input, const kdl_stored_image *images,
                                  size_t count, thin_container *out) {
  kdl_source_info stream = kdl_source_read(images[0].source);
  if (!stream.outer)
    return false;
  kdl_source_info outer = kdl_source_read(stream.outer);
  if (outer.outer || outer.size != input->size)
    return false;
  for (size_t i = 0; i < count; ++i) {
    if (images[i].source != images[0].source || images[i].parent != KDL_NO_PARENT ||
        images[i].problem)
      return false;
  }
  unsigned version = version_before(input->data, stream.packed_offset);
  out->kind = THIN_COMPRESSED_BUNDLE;
  out->offset = stream.packed_offset - versions[version].header_size;
  out->size = versions[version].header_size + stream.packed_size;
  return version != 0;
}

static void store_le(uint8_t *at, uint8_t width, uint64_t number) {
  if (width == 8)
    kdl_store_u64(at, number);
  else
    kdl_store_u32(at, (uint32_t)number);
}

void thin_compressed_bundle_add(thin_output *out, const uint8_t *header, const uint8_t *bundle,
                                size_t size, const void *packed, size_t packed_size) {
  unsigned version = kdl_load_u16(header + 4);
  size_t header_size = versions[version].header_size;
  uint8_t width = versions[version].width, digest[MD5_SIZE];
  uint8_t *made = thin_output_add_uninitialized(out, header_size + packed_size);
  memcpy(made, header, header_size);
  if (versions[version].total_at)
    store_le(made + versions[version].total_at, width, header_size + packed_size);
  store_le(made + versions[version].inflated_at, width, size);
  md5(bundle, size, digest);
  memcpy(made + versions[version].hash_at, digest, hash_size);
  memcpy(made + header_size, packed, packed_size);
}

kdl_status thin_compressed_bundle_rewrite(const thin_input *input, const bool *kept,
                                          const kdl_stored_image *images, size_t count,
                                          const thin_container *container, thin_output *out) {
  kdl_source_info stream = kdl_source_read(images[0].source);
  uint8_t *inflated = xmalloc((size_t)stream.size);
  kdl_status status = kdl_inflate(stream.codec, input->data + stream.packed_offset,
                                  (size_t)stream.packed_size, inflated, (size_t)stream.size);
  if (status == KDL_OK) {
    thin_input inner = {.data = inflated, .size = stream.size, .name = input->name, .fd = -1};
    thin_container whole = {.kind = THIN_BUNDLE, .size = stream.size, .count = count};
    thin_output plain = {.count = 0};
    thin_bundle_rewrite(&inner, kept, images, count, &whole, &plain);
    uint8_t *bundle = thin_output_bytes(&plain);
    void *packed;
    size_t packed_size;
    status =
        kdl_deflate(stream.codec, bundle, (size_t)plain.size, NULL, NULL, &packed, &packed_size);
    if (status == KDL_OK) {
      thin_compressed_bundle_add(out, input->data + container->offset, bundle, (size_t)plain.size,
                                 packed, packed_size);
      free(packed);
    } else {
      kdl_error_prefix("%s: offset 0x%" PRIx64, input->name, container->offset);
    }
    free(bundle);
    thin_output_free(&plain);
  }
  free(inflated);
  return status;
}

kdl_status thin_compressed_bundle_replace(const thin_input *input, uint8_t *file, uint64_t at,
                                          uint64_t room, const uint8_t *bundle, size_t size) {
  unsigned version = file ? version_before(file, at) : 0;
  if (version == 0)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: offset 0x%" PRIx64 ": found no compressed bundle, expected one",
                    input->name, at);
  uint16_t method = kdl_load_u16(file + at - versions[version].header_size + 6);
  kdl_codec codec = method == 0 ? KDL_CODEC_ZLIB : KDL_CODEC_ZSTD;
  void *packed;
  size_t packed_size;
  KDL_TRY(kdl_deflate(codec, bundle, size, NULL, NULL, &packed, &packed_size));
  /* Unused room is filled with a zstd frame without data. */
  size_t left = packed_size <= room ? (size_t)room - packed_size : 0;
  kdl_status status = KDL_OK;
  if (packed_size > room || (codec == KDL_CODEC_ZSTD && left && left < skippable_header)) {
    status = kdl_fail(KDL_UNSUPPORTED,
                      "%s: offset 0x%" PRIx64 ": found %zu bytes once compressed, expected at "
                      "most the %" PRIu64 " that were there: add the part 'several'",
                      input->name, at, packed_size, room);
  } else {
    uint8_t *rest = file + at + packed_size;
    memcpy(file + at, packed, packed_size);
    memset(rest, 0, left);
    if (codec == KDL_CODEC_ZSTD && left) {
      kdl_store_u32(rest, KDL_MAGIC_ZSTD_SKIPPED);
      kdl_store_u32(rest + 4, (uint32_t)(left - skippable_header));
    }
  }
  free(packed);
  return status;
}
