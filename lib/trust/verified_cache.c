/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/trust/verified_cache.h"

#include "support/system/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { max_entries = 256, max_entry_size = 64 * 1024 };

typedef struct {
  uint64_t fingerprint; /* distinguishes most entries */
  size_t size;
  uint8_t *bytes;
} cache_entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cache_entry cache_entries[max_entries]; /* guarded by the lock */
static size_t added_count;

/* A sequence of bytes that is written, compared with an earlier one, or counted. */
typedef struct {
  uint8_t *to;         /* NULL: compare or count */
  const uint8_t *with; /* NULL: do not compare */
  size_t size;
  bool differs;
} serializer;

static void serialize_bytes(serializer *r, const void *data, size_t size) {
  if (size && r->to)
    memcpy(r->to + r->size, data, size);
  else if (size && r->with && !r->differs)
    r->differs = memcmp(r->with + r->size, data, size) != 0;
  r->size += size;
}

static void serialize_text(serializer *r, kdl_string text) {
  serialize_bytes(r, &text.length, sizeof text.length);
  serialize_bytes(r, text.data, text.length);
}

static void serialize_images(serializer *r, kdl_string detached, const kdl_signed_image *images,
                             size_t count) {
  serialize_text(r, detached);
  for (size_t i = 0; i < count && !r->differs; ++i) {
    const kdl_signed_image *image = &images[i];
    uint64_t fields[] = {image->declared_kind, image->offload_kind, image->flags,
                         image->pair_count};
    serialize_bytes(r, fields, sizeof fields);
    for (size_t k = 0; k < image->pair_count && !r->differs; ++k) {
      serialize_text(r, image->pairs[k].key);
      serialize_text(r, image->pairs[k].value);
    }
  }
}

/* An entry with its size and fingerprint. */
static cache_entry entry_for(kdl_string detached, const kdl_signed_image *images, size_t count) {
  cache_entry entry = {.size = sizeof detached.length + detached.length};
  entry.fingerprint = detached.length > 64 ? (uint64_t)(uint8_t)detached.data[64] : 0;
  for (size_t i = 0; i < count; ++i) {
    entry.size += 4 * sizeof(uint64_t);
    for (size_t k = 0; k < images[i].pair_count; ++k) {
      kdl_string key = images[i].pairs[k].key, value = images[i].pairs[k].value;
      entry.size += 2 * sizeof key.length + key.length + value.length;
      entry.fingerprint = entry.fingerprint * 31 + value.length;
      for (size_t at = 20; at < value.length && at < 28; ++at) /* random digits of the signature */
        entry.fingerprint = entry.fingerprint * 31 + (uint8_t)value.data[at];
    }
  }
  return entry;
}

bool kdl_verified_cache_has(kdl_string detached, const kdl_signed_image *images, size_t count) {
  cache_entry entry = entry_for(detached, images, count);
  bool found = false;
  kdl_lock(&lock);
  size_t used = added_count < max_entries ? added_count : max_entries;
  for (size_t i = 0; i < used && !found; ++i) {
    if (cache_entries[i].fingerprint != entry.fingerprint || cache_entries[i].size != entry.size ||
        !cache_entries[i].bytes)
      continue;
    serializer compared = {.with = cache_entries[i].bytes};
    serialize_images(&compared, detached, images, count);
    found = !compared.differs;
  }
  kdl_unlock(&lock);
  return found;
}

void kdl_verified_cache_add(kdl_string detached, const kdl_signed_image *images, size_t count) {
  cache_entry entry = entry_for(detached, images, count);
  entry.bytes = entry.size <= max_entry_size ? malloc(entry.size) : NULL;
  if (!entry.bytes)
    return;
  serializer written = {.to = entry.bytes};
  serialize_images(&written, detached, images, count);
  kdl_lock(&lock);
  cache_entry *slot = &cache_entries[added_count++ % max_entries];
  free(slot->bytes);
  *slot = entry;
  kdl_unlock(&lock);
}
