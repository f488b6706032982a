/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Clang offload bundles for the tests, plain and compressed. */
#ifndef KDL_TESTS_UNIT_BUNDLE_BUILDER_H
#define KDL_TESTS_UNIT_BUNDLE_BUILDER_H

#include "packers.h"

typedef struct {
  const char *id;
  const char *image;
} entry_spec;

/* A plain bundle with its code objects aligned to `align`; malloc'ed. */
static inline uint8_t *make_bundle(const entry_spec *entries, size_t count, size_t align,
                                   size_t *out_size) {
  size_t table = 32;
  size_t images = 0;
  for (size_t i = 0; i < count; ++i) {
    table += 24 + strlen(entries[i].id);
    images += strlen(entries[i].image) + align;
  }
  uint8_t *data = calloc(1, table + images + align);
  assert_non_null(data);
  memcpy(data, "__CLANG_OFFLOAD_BUNDLE__", 24);
  kdl_store_u64(data + 24, count);
  size_t at = 32;
  size_t end = table;
  for (size_t i = 0; i < count; ++i) {
    size_t id_length = strlen(entries[i].id);
    size_t size = strlen(entries[i].image);
    size_t offset = (end + align - 1) / align * align;
    kdl_store_u64(data + at, offset);
    kdl_store_u64(data + at + 8, size);
    kdl_store_u64(data + at + 16, id_length);
    memcpy(data + at + 24, entries[i].id, id_length);
    memcpy(data + offset, entries[i].image, size);
    at += 24 + id_length;
    if (size)
      end = offset + size;
  }
  *out_size = end;
  return data;
}

enum { method_zlib = 0, method_zstd = 1 };

/* The header of a compressed bundle before `packed`; malloc'ed. */
static inline uint8_t *make_compressed(unsigned version, unsigned method, const void *packed,
                                       size_t packed_size, uint64_t inflated_size,
                                       size_t *out_size) {
  static const uint8_t header_sizes[] = {0, 20, 24, 32};
  size_t header_size = header_sizes[version];
  size_t total = header_size + packed_size;
  uint8_t *data = calloc(1, total);
  assert_non_null(data);
  memcpy(data, "CCOB", 4);
  kdl_store_u16(data + 4, (uint16_t)version);
  kdl_store_u16(data + 6, (uint16_t)method);
  if (version == 1) {
    kdl_store_u32(data + 8, (uint32_t)inflated_size);
  } else if (version == 2) {
    kdl_store_u32(data + 8, (uint32_t)total);
    kdl_store_u32(data + 12, (uint32_t)inflated_size);
  } else {
    kdl_store_u64(data + 8, total);
    kdl_store_u64(data + 16, inflated_size);
  }
  memcpy(data + header_size, packed, packed_size);
  *out_size = total;
  return data;
}

static inline uint8_t *compress(unsigned version, unsigned method, const uint8_t *bundle,
                                size_t size, size_t *out_size) {
  size_t packed_size;
  uint8_t *packed =
      pack(method == method_zstd ? KDL_CODEC_ZSTD : KDL_CODEC_ZLIB, bundle, size, &packed_size);
  uint8_t *data = make_compressed(version, method, packed, packed_size, size, out_size);
  free(packed);
  return data;
}

#endif
