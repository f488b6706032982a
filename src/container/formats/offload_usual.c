/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OffloadBinary, version 1, as every writer lays it out: header, entry, string map, strings, image.
 * Whatever is laid out otherwise, or is wrong, is left to offload_binary.c, which reads the one and
 * says what is the matter with the other. What is read here is read there to the same end.
 */
#include "base/bytes.h"
#include "base/text.h"
#include "container/container.h"

#include <string.h>

static const uint32_t magic = 0xad10ff10;

enum {
  entry_at = 32,
  map_at = entry_at + 40,
  pair_size = 16,
  /* All before the image. No string is longer than its limit. */
  largest_head = 4096,
};
_Static_assert(largest_head <= KDL_LIMIT_KEY + 0 && largest_head <= KDL_LIMIT_VALUE + 0,
               "no string is too long");

typedef struct {
  uint64_t size;
  uint64_t pair_count;
  uint64_t strings_at;
  uint64_t image_at; /* the strings end there */
  uint64_t image_size;
} usual_layout;

/* Whether the header and the entry at `head` say that the binary is laid out so, and lies within
 * `limit` bytes. */
static bool is_usual(const uint8_t *head, uint64_t limit, usual_layout *out_layout) {
  usual_layout found = {
      .size = kdl_load_u64(head + 8),
      .pair_count = kdl_load_u64(head + entry_at + 16),
      .image_at = kdl_load_u64(head + entry_at + 24),
      .image_size = kdl_load_u64(head + entry_at + 32),
  };
  uint64_t entry_size = kdl_load_u64(head + 24);
  if (kdl_load_u32(head) != magic || kdl_load_u32(head + 4) != 1 || found.size > limit ||
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

/* Nearly every pair has one of these keys, whose length need not be looked for. `left` bytes are
 * there, the last of them a NUL. */
static kdl_string key_at(const char *text, size_t left) {
  if (left > 6 && memcmp(text, "triple", 7) == 0)
    return KDL_TEXT("triple");
  if (left > 4 && memcmp(text, "arch", 5) == 0)
    return KDL_TEXT("arch");
  return kdl_text_of(text);
}

/* The pairs, whose strings stay where they are in memory of the caller's, and are copied out of
 * anything else. NULL where a string lies elsewhere, or when out of memory. */
static const kdl_pair *read_pairs(kdl_arena *arena, const uint8_t *head, const usual_layout *at,
                                  bool stays) {
  size_t strings_size = (size_t)(at->image_at - at->strings_at);
  size_t size = at->pair_count * sizeof(kdl_pair);
  kdl_pair *pairs = kdl_arena_alloc(arena, size + (stays ? 0 : strings_size));
  if (!pairs || head[at->image_at - 1] != 0)
    return NULL;
  const char *strings = (const char *)head + at->strings_at;
  if (!stays)
    strings = memcpy(pairs + at->pair_count, strings, strings_size);
  kdl_pair *pair = pairs;
  for (const uint8_t *raw = head + map_at; raw < head + at->strings_at; raw += pair_size, ++pair) {
    uint64_t key = kdl_load_u64(raw) - at->strings_at;
    uint64_t value = kdl_load_u64(raw + 8) - at->strings_at;
    if (key >= strings_size || value >= strings_size) /* also where it lies before them */
      return NULL;
    pair->key = key_at(strings + key, strings_size - key);
    pair->value = kdl_text_of(strings + value);
  }
  return pairs;
}

kdl_status kdl_parse_usual_offload_binaries(kdl_container *container,
                                            const kdl_parse_context *scope,
                                            const kdl_region *region, const char *label,
                                            uint64_t *offset) {
  kdl_source *source = region->source;
  bool stays = source->fd < 0 && source->codec == KDL_CODEC_NONE;
  kdl_status status = KDL_OK;
  while (status == KDL_OK && region->size - *offset > map_at) {
    usual_layout at;
    kdl_image *image;
    uint64_t start = region->base + *offset;
    const uint8_t *head = kdl_source_peek(source, start, map_at);
    if (!head || !is_usual(head, region->size - *offset, &at))
      break;
    head = kdl_source_peek(source, start, (size_t)at.image_at);
    const kdl_pair *pairs = head ? read_pairs(&container->arena, head, &at, stays) : NULL;
    if (!pairs)
      break;
    status = kdl_container_begin_image(container, &image);
    if (status != KDL_OK)
      break;
    *image = (kdl_image){
        .source = source,
        .offset = start + at.image_at,
        .stored_size = at.image_size,
        .size = at.image_size,
        .declared_kind = kdl_load_u16(head + entry_at),
        .offload_kind = kdl_load_u16(head + entry_at + 2),
        .flags = kdl_load_u32(head + entry_at + 4),
        .pair_count = (uint32_t)at.pair_count,
        .pairs = pairs,
        .header_offset = start + entry_at,
        .label = label,
    };
    *offset += at.size;
    status = kdl_container_end_image(container, scope);
  }
  return status;
}
