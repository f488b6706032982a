/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Scans sections of any name for device code. NVIDIA's libraries keep fatbins in .ldata, .rodata
 * and .cask_resource; others keep bare cubins in .rodata. Programs find them by address. The scan
 * searches for their first bytes at addresses that are multiples of 8, as loaders require.
 *
 * It compares eight bytes, then checks that the sizes are consistent and within the section; a hit
 * that fails is chance and is skipped. Each check costs steps of a budget in proportion to the
 * section, so that no section takes more than linear time.
 */
#include "lib/container/formats/sections.h"
#include "lib/inspect/images.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <stdlib.h>
#include <string.h>

/* Hits are close together; far from one, long reads are cheaper. */
enum {
  smallest_look = 4 * 1024,
  largest_look = 256 * 1024,
  block_words = 8,
  block_size = 8 * block_words,
};

/* An ELF file's magic, class, byte order and version. */
static const uint64_t elf_word = UINT64_C(0x0001010200000000) | KDL_MAGIC_ELF;
static const uint64_t elf_mask = 0x00ffffffffffffff;

static bool is_hit(uint64_t word) {
  return word == KDL_MAGIC_FATBIN_HEADER || (word & elf_mask) == elf_word;
}

/* The offset of the first hit in `size` bytes, or `size`. A block without a hit costs one
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

/* Uses one step of the budget; false if none is left. */
static bool spend_budget(uint64_t *budget) {
  if (*budget == 0)
    return false;
  --*budget;
  return true;
}

/* The length of the device's ELF file at the start of `region`; 0 where there is none. */
static kdl_status measure_elf(const kdl_region *region, uint64_t *budget, uint64_t *out_size) {
  *out_size = 0;
  if (region->size < sizeof(Elf64_Ehdr))
    return KDL_OK;
  const uint8_t *head = kdl_region_peek(region, 0, sizeof(Elf64_Ehdr));
  if (!head)
    return kdl_error_status();
  kdl_elf elf = kdl_elf_load_header(head);
  uint64_t sections = elf.section_count * sizeof(Elf64_Shdr);
  uint64_t segments = elf.segment_count * sizeof(Elf64_Phdr);
  if (kdl_image_sniff(head, sizeof(Elf64_Ehdr)) == KDL_IMAGE_OBJECT || /* not device code */
      kdl_load_u16(head + offsetof(Elf64_Ehdr, e_ehsize)) != sizeof(Elf64_Ehdr) ||
      elf.section_size != sizeof(Elf64_Shdr) || elf.section_names >= elf.section_count ||
      (segments && elf.segment_size != sizeof(Elf64_Phdr)) ||
      !kdl_in_range(elf.section_table, sections, region->size) ||
      !kdl_in_range(elf.segment_table, segments, region->size))
    return KDL_OK;
  uint64_t end = elf.section_table + sections;
  if (segments && elf.segment_table + segments > end)
    end = elf.segment_table + segments;
  for (uint64_t i = 0; i < elf.section_count; ++i) {
    uint64_t at = elf.section_table + i * sizeof(Elf64_Shdr);
    const uint8_t *raw =
        spend_budget(budget) ? kdl_region_peek(region, at, sizeof(Elf64_Shdr)) : NULL;
    if (!raw)
      return *budget ? kdl_error_status() : KDL_OK;
    kdl_elf_section section = kdl_elf_load_section(&elf, raw);
    if (section.type == SHT_NOBITS || i == 0 || section.size == 0)
      continue;
    if (!kdl_in_range(section.offset, section.size, region->size))
      return KDL_OK;
    if (section.offset + section.size > end)
      end = section.offset + section.size;
  }
  *out_size = end;
  return KDL_OK;
}

/* Lists a verified hit. Its parser reports errors beyond its sizes. */
static kdl_status add_hit(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_region *found) {
  kdl_status status = kdl_container_parse(container, scope, found, KDL_UNKNOWN_IS_IGNORED);
  if (status != KDL_BAD_FILE)
    return status;
  kdl_image image = kdl_image_of_region(found);
  image.problem = kdl_arena_format(&container->arena, "%s", kdl_error_message());
  image.label = kdl_arena_format(&container->arena, "found%s", scope->location);
  kdl_parse_context module = kdl_container_begin_module(container, scope, true);
  return image.problem && image.label ? kdl_container_add(container, &module, &image)
                                      : kdl_container_no_memory(container);
}

static kdl_status name_scan_location(kdl_container *container, const kdl_scan *scan,
                                     kdl_parse_context *scope) {
  kdl_string name;
  KDL_TRY(scan->name(scan->user, &name));
  scope->location = kdl_arena_format(&container->arena, " in %s%s", name.length ? name.data : "?",
                                     scope->location);
  return scope->location ? KDL_OK : kdl_container_no_memory(container);
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
      status = name_scan_location(container, scan, &inner);
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
