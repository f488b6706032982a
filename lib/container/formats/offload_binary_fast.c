/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A fast reader of OffloadBinary version 1 in the layout of all known writers: header, entry,
 * string map, strings, image. It leaves other layouts and errors to offload_binary.c, which reads
 * or reports them. Both readers give the same result.
 *
 * There are two because one would be slow: without this one, callgrind counts 2.3 times as many
 * instructions to open and close one image in memory (3,088 for 1,356), 5.6 times for a thousand
 * images in memory and 3.0 times for them in a file (gcc 12, 19 November 2026).
 */
#include "lib/container/container.h"
#include "support/base/bytes.h"
#include "support/base/magic.h"
#include "support/base/text.h"
#include "support/system/lock.h"

#include <string.h>

static const uint64_t magic_and_version = (uint64_t)1 << 32 | KDL_MAGIC_OFFLOAD;

enum {
  entry_at = 32,
  map_at = entry_at + 40,
  pair_size = 16,
  /* The size of everything before the image. No string exceeds its limit. */
  largest_head = 4096,
};
_Static_assert(largest_head <= KDL_LIMIT_KEY + 0 && largest_head <= KDL_LIMIT_VALUE + 0,
               "no string is too long");

typedef struct {
  uint64_t size;
  uint64_t pair_count;
  uint64_t strings_at;
  uint64_t image_at; /* the end of the strings */
  uint64_t image_size;
} v1_layout;

/* Whether the header and the entry at `head` have this layout and are within `limit` bytes. */
static bool is_standard_layout(const uint8_t *head, uint64_t limit, v1_layout *out_layout) {
  v1_layout found = {
      .size = kdl_load_u64(head + 8),
      .pair_count = kdl_load_u64(head + entry_at + 16),
      .image_at = kdl_load_u64(head + entry_at + 24),
      .image_size = kdl_load_u64(head + entry_at + 32),
  };
  uint64_t entry_size = kdl_load_u64(head + 24);
  if (kdl_load_u64(head) != magic_and_version || found.size > limit ||
      kdl_load_u64(head + 16) != entry_at || entry_size < map_at - entry_at ||
      entry_size > found.size - entry_at || kdl_load_u64(head + entry_at + 8) != map_at)
    return false;
  if (found.pair_count == 0 || found.pair_count > largest_head / pair_size ||
      found.image_at > largest_head || found.image_at > found.size || found.image_size == 0 ||
      found.image_size > found.size - found.image_at)
    return false;
  found.strings_at = map_at + found.pair_count * pair_size;
  *out_layout = found;
  return found.strings_at < found.image_at;
}

/* ------------------------------------------------------------------------------------------ */
/* Pairs                                                                                        */

typedef struct {
  const uint8_t *map;
  uint64_t strings_at; /* in the binary */
  const char *strings; /* the last byte was a NUL when checked */
  size_t strings_size;
} pair_source;

/* For later reads: the caller's memory may have changed since it was checked, so a string must not
 * run past the strings. */
static inline kdl_string bounded_text(const pair_source *from, const char *text) {
  return (kdl_string){text, strnlen(text, (size_t)(from->strings + from->strings_size - text))};
}

/* False where a string is outside of the strings. */
static inline bool get_pair(const pair_source *from, uint64_t index, const char **out_key,
                            const char **out_value) {
  uint64_t key = kdl_load_u64(from->map + index * pair_size) - from->strings_at;
  uint64_t value = kdl_load_u64(from->map + index * pair_size + 8) - from->strings_at;
  if ((key > value ? key : value) >= from->strings_size) /* also for an offset before them */
    return false;
  *out_key = from->strings + key;
  *out_value = from->strings + value;
  return true;
}

static void read_v1_pairs(const pair_source *from, uint64_t count, kdl_pair *pairs) {
  for (uint64_t i = 0; i < count; ++i) {
    const char *key, *value;
    pairs[i] = get_pair(from, i, &key, &value) /* as read_keys checked, unless it changed since */
                   ? (kdl_pair){bounded_text(from, key), bounded_text(from, value)}
                   : (kdl_pair){{"", 0}, {"", 0}};
  }
}

/* The first eight bytes of a key as a word, which for a shorter key includes its NUL. */
#define WORD(a, b, c, d, e, f, g, h)                                                               \
  ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |                \
   (uint64_t)(e) << 32 | (uint64_t)(f) << 40 | (uint64_t)(g) << 48 | (uint64_t)(h) << 56)
static const uint64_t arch = WORD('a', 'r', 'c', 'h', 0, 0, 0, 0), five_bytes = ~(uint64_t)0 >> 24;
static const uint64_t triple = WORD('t', 'r', 'i', 'p', 'l', 'e', 0, 0),
                      seven_bytes = ~(uint64_t)0 >> 8;
static const uint64_t kernel_begins = WORD('k', 'd', 'l', '.', 'k', 'e', 'r', 'n');
static const uint32_t kernel_ends = (uint32_t)WORD('n', 'e', 'l', '.', 0, 0, 0, 0);
enum { kernel_end_at = 7, kernel_name_at = 11 };
_Static_assert(kernel_name_at == sizeof KDL_KERNEL_PREFIX - 1, "the words are of that prefix");

static bool read_v1_keys_slow(const pair_source *from, kdl_image *image) {
  for (uint64_t i = 0; i < image->pair_count; ++i) {
    const char *key, *value;
    if (!get_pair(from, i, &key, &value))
      return false;
    kdl_image_read_key(image, kdl_text_of(key), kdl_text_of(value));
  }
  return true;
}

/* Recognises the usual keys by their first bytes, without their lengths. Reads up to `key_look`
 * bytes beyond the strings. The strings end in a NUL, so no usual key can extend beyond them. */
enum { key_look = kernel_name_at + 1 };

static inline bool read_v1_keys(const pair_source *from, kdl_image *image) {
  for (uint64_t i = 0; i < image->pair_count; ++i) {
    const char *key, *value;
    if (!get_pair(from, i, &key, &value))
      return false;
    uint64_t word = kdl_load_u64(key);
    if (word == kernel_begins && kdl_load_u32(key + kernel_end_at) == kernel_ends &&
        key[kernel_name_at])
      image->metadata_flags |= KDL_METADATA_HAS_KERNELS;
    else if ((word & five_bytes) == arch)
      image->arch = kdl_text_of(value);
    else if ((word & seven_bytes) == triple)
      image->triple = kdl_text_of(value);
    else
      kdl_image_read_key(image, kdl_text_of(key), kdl_text_of(value));
  }
  return true;
}

/* For an image whose pairs were checked when it was listed and are not read yet. The end of the
 * strings is the one found then, because the bytes at `head` are the caller's. */
static pair_source v1_pair_source(const kdl_image *image, const uint8_t *head) {
  uint64_t strings_at = map_at + (uint64_t)image->pair_count * pair_size;
  uint64_t image_at = image->offset - image->header_offset + entry_at;
  return (pair_source){
      .map = head + map_at,
      .strings_at = strings_at,
      .strings = (const char *)head + strings_at,
      .strings_size = (size_t)(image_at - strings_at),
  };
}

bool kdl_offload_binary_find_kernel(const kdl_image *image, const uint8_t *head, kdl_string kernel,
                                    kdl_string *out_value) {
  pair_source from = v1_pair_source(image, head);
  for (uint32_t i = image->pair_count; i-- > 0;) {
    const char *key, *value;
    kdl_string name;
    if (!get_pair(&from, i, &key, &value) || !kdl_kernel_name(bounded_text(&from, key), &name) ||
        !kdl_text_equal(name, kernel))
      continue;
    *out_value = bounded_text(&from, value);
    return true;
  }
  return false;
}

/* One lock for all images: few threads read at the same time. */
const kdl_pair *kdl_offload_binary_read_pairs(const kdl_image *shared) {
  static kdl_work reading;
  kdl_image *image = (kdl_image *)(uintptr_t)shared;
  while (atomic_load_explicit(&image->lazy_pairs, memory_order_acquire)) {
    if (kdl_work_begin(&reading) == KDL_WORK_WAITED)
      continue;
    const uint8_t *head = atomic_load_explicit(&image->lazy_pairs, memory_order_relaxed);
    if (head) {
      pair_source from = v1_pair_source(image, head);
      read_v1_pairs(&from, image->pair_count, (kdl_pair *)(uintptr_t)image->pair_list);
      atomic_store_explicit(&image->lazy_pairs, NULL, memory_order_release);
    }
    kdl_work_end(&reading);
  }
  return image->pair_list;
}

/* ------------------------------------------------------------------------------------------ */
/* Binaries                                                                                     */

/* Reads the strings and pairs of one binary; the bytes before the image are at `head`, in the
 * caller's memory or to be copied. False for an unusual layout, and when out of memory. */
static inline bool read_v1_binary(kdl_container *container, const uint8_t *head,
                                  const v1_layout *at, bool is_persistent, kdl_image *image) {
  pair_source from = {
      .map = head + map_at,
      .strings_at = at->strings_at,
      .strings = (const char *)head + at->strings_at,
      .strings_size = (size_t)(at->image_at - at->strings_at),
  };
  size_t size = at->pair_count * sizeof(kdl_pair);
  kdl_pair *pairs = kdl_arena_alloc(&container->arena,
                                    is_persistent ? size : size + from.strings_size + key_look);
  if (!pairs || from.strings[from.strings_size - 1] != 0)
    return false;
  image->pair_count = (uint32_t)at->pair_count;
  image->pair_list = pairs;
  if (is_persistent) {
    atomic_init(&image->lazy_pairs, head);
    return at->size - at->image_at >= key_look ? read_v1_keys(&from, image)
                                               : read_v1_keys_slow(&from, image);
  }
  char *copy = (char *)(pairs + at->pair_count);
  memcpy(copy, from.strings, from.strings_size);
  memset(copy + from.strings_size, 0, key_look);
  from.strings = copy;
  if (!read_v1_keys(&from, image))
    return false;
  read_v1_pairs(&from, at->pair_count, pairs);
  return true;
}

kdl_status kdl_parse_offload_binaries_fast(kdl_container *container, const kdl_parse_context *scope,
                                           const kdl_region *region, const char *label,
                                           uint64_t *offset) {
  kdl_source *source = region->source;
  const bool is_persistent = source->fd < 0 && source->codec == KDL_CODEC_NONE &&
                             source->ready_offset == 0 &&
                             kdl_in_range(region->base, region->size, source->ready_size);
  const uint8_t *all = is_persistent ? source->ready + region->base : NULL;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && region->size - *offset > map_at) {
    v1_layout at;
    kdl_image *image;
    uint64_t start = region->base + *offset;
    const uint8_t *head = is_persistent ? all + *offset : kdl_source_peek(source, start, map_at);
    if (!head || !is_standard_layout(head, region->size - *offset, &at))
      break;
    if (!is_persistent)
      head = kdl_source_peek(source, start, (size_t)at.image_at);
    status = head ? kdl_container_begin_image(container, &image) : KDL_OK;
    if (!head || status != KDL_OK)
      break;
    *image = (kdl_image){
        .source = source,
        .offset = start + at.image_at,
        .stored_size = at.image_size,
        .size = at.image_size,
        .declared_kind = kdl_load_u16(head + entry_at),
        .offload_kind = kdl_load_u16(head + entry_at + 2),
        .flags = kdl_load_u32(head + entry_at + 4),
        .triple = {"", 0},
        .arch = {"", 0},
        .header_offset = start + entry_at,
        .label = label,
    };
    if (!read_v1_binary(container, head, &at, is_persistent, image))
      break;
    *offset += at.size;
    status = kdl_container_end_image(container, scope);
  }
  return status;
}
