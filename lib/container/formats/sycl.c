/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The device images of a linked SYCL program or library. The wrappers of Intel and LLVM store them
 * in allocated sections, back to back with padding, and describe each by address and size in the
 * section .tgtimg. An image is SPIR-V, machine code, or an archive of machine code for several
 * devices. With --offload-compress it is a zstd frame, and the size is the inflated one.
 *
 * In a position-independent ELF file the addresses are relocated. GNU ld leaves the link-time
 * address in place; lld does not, so the reader takes the addend of the relative relocation.
 * Windows linkers leave the address in place.
 */
#include "lib/container/formats/sections.h"

#include "lib/inspect/images.h"
#include "lib/inspect/libraries.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "support/base/magic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { entry_size = 16, relocation_size = 24, smallest_frame = 9 };

typedef struct {
  uint64_t address;
  uint64_t size;
  uint64_t next;    /* the address of the next non-empty image, or UINT64_MAX */
  uint32_t index;   /* in the table */
  uint32_t section; /* index of its section, or UINT32_MAX */
} sycl_entry;

typedef struct {
  kdl_container *container;
  const kdl_parse_context *scope;
  const kdl_sycl *sycl;
  sycl_entry *entries;
  uint32_t count;
} sycl_reader;

/* ------------------------------------------------------------------------------------------ */
/* The table                                                                                    */

static kdl_status read_tgtimg_table(sycl_reader *walk, bool *out_unresolved) {
  *out_unresolved = false;
  for (uint32_t i = 0; i < walk->count; ++i) {
    const uint8_t *raw = kdl_region_peek(
        walk->sycl->file, walk->sycl->table->offset + (uint64_t)i * entry_size, entry_size);
    if (!raw)
      return kdl_error_status();
    walk->entries[i] = (sycl_entry){.address = kdl_load_u64(raw),
                                    .size = kdl_load_u64(raw + 8),
                                    .next = UINT64_MAX,
                                    .index = i,
                                    .section = UINT32_MAX};
    *out_unresolved |= walk->entries[i].size && !walk->entries[i].address;
  }
  return KDL_OK;
}

/* Whether a relocation only adds the load address to its addend: x86-64, AArch64, RISC-V. */
static bool is_relative(uint64_t info) {
  uint32_t type = (uint32_t)info;
  return info >> 32 == 0 &&
         (type == R_X86_64_RELATIVE || type == R_AARCH64_RELATIVE || type == R_RISCV_RELATIVE);
}

static kdl_status apply_relocations(sycl_reader *walk, const kdl_elf_section *relocations) {
  enum { chunk = 2048 };
  uint64_t count = relocations->size / relocation_size;
  for (uint64_t done = 0; done < count;) {
    uint64_t part = count - done < chunk ? count - done : chunk;
    const uint8_t *raw =
        kdl_region_peek(walk->sycl->file, relocations->offset + done * relocation_size,
                        (size_t)part * relocation_size);
    if (!raw)
      return kdl_error_status();
    for (uint64_t i = 0; i < part; ++i, raw += relocation_size) {
      uint64_t table_offset = kdl_load_u64(raw) - walk->sycl->table->address;
      if (table_offset < (uint64_t)walk->count * entry_size && table_offset % entry_size == 0 &&
          is_relative(kdl_load_u64(raw + 8)))
        walk->entries[table_offset / entry_size].address = kdl_load_u64(raw + 16);
    }
    done += part;
  }
  return KDL_OK;
}

static kdl_status relocate_entries(sycl_reader *walk) {
  kdl_status status = KDL_OK;
  for (uint64_t i = 1; i < walk->sycl->relocated->header.section_count && status == KDL_OK; ++i) {
    kdl_elf_section section;
    status = kdl_sections_read(walk->sycl->relocated, i, &section);
    if (status != KDL_OK || section.type != SHT_RELA || !(section.flags & SHF_ALLOC))
      continue;
    status = kdl_sections_check(walk->sycl->relocated, &section, "relocations");
    if (status == KDL_OK)
      status = apply_relocations(walk, &section);
  }
  return status;
}

static int compare_sections(const void *left, const void *right) {
  uint64_t a = (*(const kdl_elf_section *const *)left)->address;
  uint64_t b = (*(const kdl_elf_section *const *)right)->address;
  return (a > b) - (a < b);
}

static int compare_addresses(const void *left, const void *right) {
  const sycl_entry *a = left;
  const sycl_entry *b = right;
  if (a->address != b->address)
    return a->address < b->address ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static int compare_indices(const void *left, const void *right) {
  uint32_t a = ((const sycl_entry *)left)->index;
  uint32_t b = ((const sycl_entry *)right)->index;
  return (a > b) - (a < b);
}

/* Finds the section of each image, and the image that follows it. */
static void assign_sections(sycl_reader *walk) {
  qsort(walk->sycl->sections, walk->sycl->section_count, sizeof *walk->sycl->sections,
        compare_sections);
  qsort(walk->entries, walk->count, sizeof *walk->entries, compare_addresses);
  size_t section = 0;
  for (uint32_t i = 0; i < walk->count; ++i) {
    sycl_entry *item = &walk->entries[i];
    while (section < walk->sycl->section_count &&
           item->address >=
               walk->sycl->sections[section]->address + walk->sycl->sections[section]->size)
      ++section;
    if (item->address && section < walk->sycl->section_count &&
        item->address >= walk->sycl->sections[section]->address)
      item->section = (uint32_t)section;
  }
  uint64_t next = UINT64_MAX;
  for (uint32_t i = walk->count; i-- > 0;) {
    walk->entries[i].next = next;
    if (walk->entries[i].size)
      next = walk->entries[i].address;
  }
  qsort(walk->entries, walk->count, sizeof *walk->entries, compare_indices);
}

/* ------------------------------------------------------------------------------------------ */
/* Images                                                                                       */

/* The inflated size that a zstd frame declares, or `otherwise`. `raw` has at least 18 bytes, or
 * zeros after the frame's end. */
static uint64_t frame_size(const uint8_t *raw, uint64_t otherwise) {
  static const uint8_t dictionary_bytes[] = {0, 1, 2, 4};
  uint8_t descriptor = raw[4];
  bool single = descriptor & 0x20;
  const uint8_t *at = raw + 5 + (single ? 0 : 1) + dictionary_bytes[descriptor & 3];
  switch (descriptor >> 6) {
  case 1:
    return (uint64_t)kdl_load_u16(at) + 256;
  case 2:
    return kdl_load_u32(at);
  case 3:
    return kdl_load_u64(at);
  default:
    return single ? *at : otherwise;
  }
}

/* The end of the frame, by its block headers; the end of the region if they exceed it. Padding
 * follows. */
static kdl_status frame_end(const kdl_region *frame, const uint8_t *head, uint64_t *out_end) {
  static const uint8_t dictionary_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
  enum { is_last = 1, is_repeated = 1, block_header = 3, checksum = 4 };
  uint8_t descriptor = head[4];
  bool single = descriptor & 0x20;
  uint64_t at = (single ? 5u : 6u) + dictionary_bytes[descriptor & 3];
  at += single && descriptor >> 6 == 0 ? 1u : size_bytes[descriptor >> 6];
  for (uint32_t block = 0; !(block & is_last);) {
    const uint8_t *raw = kdl_in_range(at, block_header, frame->size)
                             ? kdl_region_peek(frame, at, block_header)
                             : NULL;
    *out_end = frame->size;
    if (!raw)
      return at + block_header > frame->size ? KDL_OK : kdl_error_status();
    block = raw[0] | (uint32_t)raw[1] << 8 | (uint32_t)raw[2] << 16;
    at += block_header + ((block >> 1 & 3) == is_repeated ? 1 : block >> 3);
    if (at > frame->size)
      return KDL_OK;
  }
  at += descriptor & 4 ? checksum : 0;
  *out_end = at < frame->size ? at : frame->size;
  return KDL_OK;
}

/* Adds an image without bytes, with the reason. */
static kdl_status add_damaged_image(const sycl_reader *walk, kdl_image *image,
                                    const char *problem) {
  image->problem = kdl_arena_format(&walk->container->arena, "%s", problem);
  if (!image->problem)
    return kdl_container_no_memory(walk->container);
  image->size = image->stored_size = 0;
  image->codec = KDL_CODEC_NONE;
  kdl_parse_context module = kdl_container_begin_module(walk->container, walk->scope, true);
  return kdl_container_add(walk->container, &module, image);
}

static kdl_status add_bundled_image(const sycl_reader *walk, const kdl_parse_context *scope,
                                    kdl_string name, kdl_image *image) {
  static const char magic[] = KDL_MAGIC_BUNDLE;
  enum { magic_size = sizeof magic - 1 };
  kdl_string id = {name.data + magic_size, name.length - magic_size};
  return kdl_container_add_bundled(walk->container, scope, id, image);
}

static bool is_bundle_name(kdl_string name) {
  static const char magic[] = KDL_MAGIC_BUNDLE;
  return name.length >= sizeof magic && memcmp(name.data, magic, sizeof magic - 1) == 0;
}

/* Parses an archive of code for several devices, which are variants of one module. */
static kdl_status parse_nested_archive(const sycl_reader *walk, const kdl_parse_context *scope,
                                       const kdl_region *region) {
  uint32_t first = walk->container->count;
  kdl_parse_context inner = *scope;
  ++inner.depth;
  kdl_status status = kdl_container_parse(walk->container, &inner, region, KDL_UNKNOWN_IS_IGNORED);
  for (uint32_t i = first; i < walk->container->count; ++i) {
    kdl_image *image = &walk->container->images[i];
    if (image->offload_kind == KDL_OFFLOAD_NONE)
      image->offload_kind = KDL_OFFLOAD_SYCL;
    image->module = walk->container->images[first].module;
    walk->container->module_count = image->module + 1;
  }
  return status;
}

/* Adds one image whose bytes, inflated if needed, are in `content`. */
static kdl_status add_sniffed_image(const sycl_reader *walk, const kdl_parse_context *scope,
                                    kdl_string name, const kdl_region *content, kdl_image *image,
                                    bool *out_walked) {
  size_t look = content->size < KDL_SNIFF_SIZE ? (size_t)content->size : KDL_SNIFF_SIZE;
  const uint8_t *head = kdl_region_peek(content, 0, look);
  if (!head)
    return kdl_error_status();
  image->kind = kdl_image_sniff(head, look);
  *out_walked = image->kind != KDL_IMAGE_SPIRV || !is_bundle_name(name);
  if (!*out_walked)
    return add_bundled_image(walk, scope, name, image);
  uint32_t before = walk->container->count;
  kdl_status status = parse_nested_archive(walk, scope, content);
  if (status != KDL_OK || walk->container->count != before)
    return status;
  *out_walked = false; /* unknown format: listed as one image */
  return is_bundle_name(name) ? add_bundled_image(walk, scope, name, image)
                              : kdl_container_add(walk->container, scope, image);
}

static kdl_status add_compressed_image(const sycl_reader *walk, const kdl_parse_context *scope,
                                       kdl_string name, const kdl_region *stored,
                                       kdl_image *image) {
  kdl_source *stream;
  const char *label = kdl_arena_format(&walk->container->arena, "%s (inflated from 0x%" PRIx64 ")",
                                       stored->source->name, stored->base);
  if (!label)
    return kdl_container_no_memory(walk->container);
  image->codec = KDL_CODEC_ZSTD;
  kdl_status status = kdl_source_open_stream(&walk->container->arena, KDL_CODEC_ZSTD, stored,
                                             image->size, label, &stream);
  if (status == KDL_UNSUPPORTED)
    return is_bundle_name(name) ? add_bundled_image(walk, scope, name, image)
                                : kdl_container_add(walk->container, scope, image);
  if (status != KDL_OK)
    return status;
  kdl_region content = {stream, 0, image->size};
  bool walked = false;
  status = add_sniffed_image(walk, scope, name, &content, image, &walked);
  if (walked) {
    kdl_source_evict(stream);
    kdl_container_adopt(walk->container, stream);
  } else {
    kdl_source_close(stream);
  }
  return status;
}

static kdl_status add_sycl_entry(const sycl_reader *walk, const sycl_entry *item) {
  char problem[256];
  kdl_image image = {
      .source = walk->sycl->file->source,
      .offload_kind = KDL_OFFLOAD_SYCL,
      .header_offset =
          walk->sycl->file->base + walk->sycl->table->offset + (uint64_t)item->index * entry_size,
      .label = kdl_arena_format(&walk->container->arena, "sycl%s", walk->scope->location),
  };
  if (!image.label)
    return kdl_container_no_memory(walk->container);
  if (item->section == UINT32_MAX) {
    snprintf(problem, sizeof problem,
             ".tgtimg entry %" PRIu32 ": found address 0x%" PRIx64
             ", expected one in a section with contents",
             item->index, item->address);
    return add_damaged_image(walk, &image, problem);
  }
  kdl_elf_section *section = walk->sycl->sections[item->section];
  section->is_described = true;
  uint64_t within = item->address - section->address;
  uint64_t room = section->size - within;
  if (item->next - item->address < room)
    room = item->next - item->address;
  kdl_region rest = kdl_region_slice(walk->sycl->file, section->offset + within, room);
  uint8_t head[24] = {0};
  size_t look = room < sizeof head ? (size_t)room : sizeof head;
  const uint8_t *seen = kdl_region_peek(&rest, 0, look);
  if (!seen)
    return kdl_error_status();
  memcpy(head, seen, look);
  bool packed = room >= smallest_frame && kdl_load_u32(head) == KDL_MAGIC_ZSTD;
  image.size = packed ? frame_size(head, item->size) : item->size;
  image.stored_size = packed ? room : item->size;
  image.offset = rest.base;
  if ((!packed && item->size > room) || image.size > KDL_LIMIT_INFLATED) {
    snprintf(problem, sizeof problem,
             ".tgtimg entry %" PRIu32 ": found %" PRIu64 " bytes at 0x%" PRIx64
             ", expected at most the %" PRIu64 " before the next image or the section's end",
             item->index, image.size, item->address, room);
    return add_damaged_image(walk, &image, problem);
  }
  kdl_string name;
  kdl_status status = walk->sycl->name(walk->sycl->user, section, &name);
  if (status == KDL_OK && packed)
    status = frame_end(&rest, head, &image.stored_size);
  if (status != KDL_OK)
    return status;
  kdl_parse_context inner = kdl_container_begin_module(walk->container, walk->scope, true);
  inner.location =
      kdl_arena_format(&walk->container->arena, " in %s%s", name.data, walk->scope->location);
  if (inner.location)
    image.label = kdl_arena_format(&walk->container->arena, "sycl%s%s", packed ? " (zstd)" : "",
                                   inner.location);
  if (!inner.location || !image.label)
    return kdl_container_no_memory(walk->container);
  kdl_region stored = kdl_region_slice(&rest, 0, image.stored_size);
  bool walked;
  status = packed ? add_compressed_image(walk, &inner, name, &stored, &image)
                  : add_sniffed_image(walk, &inner, name, &stored, &image, &walked);
  return status != KDL_BAD_FILE ? status : add_damaged_image(walk, &image, kdl_error_message());
}

/* A section that was split around a hole is several sections of one name in sequence, and the table
 * may not mention all of them. */
static void mark_split_sections(const sycl_reader *walk) {
  kdl_elf_section **sections = walk->sycl->sections;
  size_t count = walk->sycl->section_count;
  for (size_t i = 1; i < count; ++i)
    sections[i]->is_described |= sections[i - 1]->is_described && sections[i]->name &&
                                 sections[i - 1]->name == sections[i]->name;
  for (size_t i = count; i-- > 1;)
    sections[i - 1]->is_described |= sections[i]->is_described && sections[i]->name &&
                                     sections[i - 1]->name == sections[i]->name;
}

kdl_status kdl_parse_sycl(kdl_container *container, const kdl_parse_context *scope,
                          const kdl_sycl *sycl) {
  uint64_t count = sycl->table->size / entry_size;
  if (count > KDL_LIMIT_IMAGES)
    return kdl_malformed(sycl->file, sycl->table->header, ".tgtimg",
                         "found %" PRIu64 " entries, expected at most %d", count, KDL_LIMIT_IMAGES);
  sycl_reader walk = {container, scope, sycl, NULL, (uint32_t)count};
  walk.entries = calloc(count ? count : 1, sizeof *walk.entries);
  if (!walk.entries)
    return kdl_container_no_memory(container);
  bool unresolved;
  kdl_status status = read_tgtimg_table(&walk, &unresolved);
  if (status == KDL_OK && unresolved && sycl->relocated)
    status = relocate_entries(&walk);
  if (status == KDL_OK)
    assign_sections(&walk);
  for (uint32_t i = 0; i < walk.count && status == KDL_OK; ++i) {
    if (walk.entries[i].size)
      status = add_sycl_entry(&walk, &walk.entries[i]);
  }
  mark_split_sections(&walk);
  free(walk.entries);
  return status;
}
