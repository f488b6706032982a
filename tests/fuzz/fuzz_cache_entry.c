/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A cache entry out of arbitrary bytes, as they are and with the digest that belongs to them, so
 * that what comes behind the digest is reached. What is taken is laid out again as it was. */
#include "ext/jit/cache/files.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { at_digest = 32 };

static void read_fields(kdl_string text) {
  static const char *const words[] = {"device", "const", "source", ""};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    kdl_string value;
    for (size_t nth = 0; nth < 3; ++nth) {
      if (kdl_cache_field(text, words[i], nth, &value) &&
          (value.data < text.data || value.data + value.length > text.data + text.length))
        abort();
    }
  }
}

static void parse(const uint8_t *data, size_t size) {
  kdl_cache_entry entry;
  void *again;
  size_t again_size;
  if (kdl_cache_entry_parse(data, size, &entry) != KDL_OK)
    return;
  read_fields(entry.link_key);
  read_fields(entry.notes);
  if (kdl_cache_entry_serialize(&entry, &again, &again_size) != KDL_OK)
    abort();
  if (again_size != size || memcmp(again, data, size) != 0)
    abort();
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  parse(data, size);
  if (size < KDL_CACHE_HEADER)
    return 0;
  uint8_t *signed_copy = malloc(size);
  if (!signed_copy)
    return 0;
  memcpy(signed_copy, data, size);
  kdl_blake2b hash;
  kdl_blake2b_start(&hash);
  kdl_blake2b_add(&hash, signed_copy, at_digest);
  kdl_blake2b_add(&hash, signed_copy + KDL_CACHE_HEADER, size - KDL_CACHE_HEADER);
  kdl_digest digest = kdl_blake2b_finish(&hash);
  memcpy(signed_copy + at_digest, digest.bytes, sizeof digest.bytes);
  parse(signed_copy, size);
  free(signed_copy);
  return 0;
}
