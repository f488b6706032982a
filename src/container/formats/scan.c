/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Device code in sections whose names do not tell: NVIDIA's own libraries keep fatbins in .ldata,
 * .rodata and .cask_resource, others keep bare cubins in .rodata. A program finds them by their
 * address; here the section is searched for their first bytes, at the addresses that are multiples
 * of 8, where loaders want them.
 *
 * Eight bytes are compared, and what then does not hold together as a whole (sizes that add up, all
 * within the section) was chance and is passed over. Checking costs steps from a budget in
 * proportion to the section, so that no section can be made to take more than linear time.
 */
#include "container/formats/scan.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/magic.h"

#include <stdlib.h>
#include <string.h>

/* Hits follow one another closely; far from one, long reads are cheaper. */
enum {
  smallest_look = 4 * 1024,
  largest_look = 256 * 1024,
  block_words = 8,
  block_size = 8 * block_words,
  elf_header_size = 64,
  elf_section_size = 64,
  elf_segment_size = 56,
};

/* An ELF file's magic, class, byte order and version. */
static const uint64_t elf_word = UINT64_C(0x0001010200000000) | KDL_MAGIC_ELF;
static const uint64_t elf_mask = 0x00ffffffffffffff;

static bool is_hit(uint64_t word) {
  return word == KDL_MAGIC_FATBIN_HEADER || (word & elf_mask) == elf_word;
}

/* The offset of the first hit in `size` bytes, or `size`. Blocks without one, nearly all, cost one
 * branch. */
static size_t find_hit(const uint8_t *bytes, size_t size) {
  size_t at = 0;
  for (; at + block_size <= size; at += block_size) {
    bool any = false;
    for (size_t i = 0; i < block_words; ++i)
      any |= is_hit(kdl_load_u64(bytes + at + 8 * i));
    if (any)
      break;
  }
  for (; at + 8 <= size; at += 8) {
    if (is_hit(kdl_load_u64(bytes + at)))
      return at;
  }
  return size;
}

/* Takes one step of the budget; false where none is left. */
static bool spend(uint64_t *budget) {
  if (*budget == 0)
    return false;
  --*budget;
  return true;
}

/* How long the device's ELF file at the start of `region` is; 0 where there is none. */
static kdl_status measure_elf(const kdl_region *region, uint64_t *budget, uint64_t *out_size) {
  enum { machine_cuda = 190, machine_intel = 205, machine_amd = 224, type_nobits = 8 };
  *out_size = 0;
  if (region->size < elf_header_size)
    return KDL_OK;
  const uint8_t *header = kdl_region_peek(region, 0, elf_header_size);
  if (!header)
    return kdl_error_status();
  uint16_t machine = kdl_load_u16(header + 18);
  uint64_t segments = kdl_load_u64(header + 32);
  uint64_t sections = kdl_load_u64(header + 40);
  uint64_t segment_count = kdl_load_u16(header + 56);
  uint64_t section_count = kdl_load_u16(header + 60);
  uint64_t names = kdl_load_u16(header + 62);
  if ((machine != machine_cuda && machine != machine_intel && machine != machine_amd) ||
      kdl_load_u16(header + 52) != elf_header_size ||
      kdl_load_u16(header + 58) != elf_section_size || names >= section_count ||
      (segment_count && kdl_load_u16(header + 54) != elf_segment_size) ||
      !kdl_in_range(sections, section_count * elf_section_size, region->size) ||
      !kdl_in_range(segments, segment_count * elf_segment_size, region->size))
    return KDL_OK;
  uint64_t end = sections + section_count * elf_section_size;
  if (segment_count && segments + segment_count * elf_segment_size > end)
    end = segments + segment_count * elf_segment_size;
  for (uint64_t i = 0; i < section_count; ++i) {
    const uint8_t *raw =
        spend(budget) ? kdl_region_peek(region, sections + i * elf_section_size, elf_section_size)
                      : NULL;
    if (!raw)
      return *budget ? kdl_error_status() : KDL_OK;
    uint64_t offset = kdl_load_u64(raw + 24);
    uint64_t size = kdl_load_u32(raw + 4) == type_nobits || i == 0 ? 0 : kdl_load_u64(raw + 32);
    if (size && !kdl_in_range(offset, size, region->size))
      return KDL_OK;
    if (size && offset + size > end)
      end = offset + size;
  }
  *out_size = end;
  return KDL_OK;
}

/* What a verified hit holds is listed; what is wrong with it beyond its sizes is said there. */
static kdl_status add_hit(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_region *found) {
  kdl_status status = kdl_container_walk(container, scope, found, KDL_UNKNOWN_IS_IGNORED);
  if (status != KDL_BAD_FILE)
    return status;
  kdl_image image = kdl_image_in(found);
  image.problem = kdl_arena_format(&container->arena, "%s", kdl_error_message());
  image.label = kdl_arena_format(&container->arena, "found%s", scope->place);
  kdl_parse_context module = kdl_container_begin_module(container, scope, true);
  return image.problem && image.label ? kdl_container_add(container, &module, &image)
                                      : kdl_container_no_memory(container);
}

static kdl_status name_place(kdl_container *container, const kdl_scan *scan,
                             kdl_parse_context *scope) {
  kdl_string name;
  KDL_TRY(scan->name(scan->user, &name));
  scope->place =
      kdl_arena_format(&container->arena, " in %s%s", name.length ? name.data : "?", scope->place);
  return scope->place ? KDL_OK : kdl_container_no_memory(container);
}

kdl_status kdl_scan_region(kdl_container *container, const kdl_parse_context *scope,
                           const kdl_scan *scan) {
  const kdl_region *body = scan->region;
  kdl_parse_context inner = *scope;
  bool named = false;
  uint64_t budget = body->size / 256 + 65536;
  uint64_t at = -scan->address & 7;
  size_t stretch = smallest_look;
  while (at < body->size && budget) {
    size_t look = body->size - at < stretch ? (size_t)(body->size - at) : stretch;
    const uint8_t *bytes = kdl_region_peek(body, at, look);
    if (!bytes)
      return kdl_error_status();
    size_t hit = find_hit(bytes, look);
    at += hit;
    if (hit == look) {
      stretch = stretch < largest_look ? stretch * 4 : largest_look;
      continue;
    }
    stretch = smallest_look;
    bool is_fatbin = kdl_load_u64(bytes + hit) == KDL_MAGIC_FATBIN_HEADER;
    kdl_region rest = kdl_region_slice(body, at, body->size - at);
    uint64_t size = 0;
    kdl_status status = is_fatbin ? kdl_cuda_fatbin_measure(&rest, &budget, &size)
                                  : measure_elf(&rest, &budget, &size);
    if (status == KDL_OK && size && !named) {
      status = name_place(container, scan, &inner);
      named = true;
    }
    kdl_region found = kdl_region_slice(&rest, 0, size);
    if (status == KDL_OK && size)
      status = add_hit(container, &inner, &found);
    if (status != KDL_OK)
      return status;
    at += size ? (size + 7) & ~(uint64_t)7 : 8;
  }
  return KDL_OK;
}
