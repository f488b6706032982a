/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Writes the output of a plan.
 *
 *   patches    replacement bytes at the same offset of the input: the ELF header, pointers,
 * symbols, the dynamic section, program headers, sizes in SYCL's table sections   the section
 * headers: parts of a zone between holes, and a section for each hole pieces     the input with its
 * patches; each zone as it was laid out; the section headers at the end, if there are more than
 * before
 */
#include "pack/thin/elf/elf_plan.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_elf_section *items;
  size_t count;
} section_list;

/* ------------------------------------------------------------------------------------------ */
/* Patches                                                                                      */

/* The caller fills in the bytes. */
static uint8_t *add_patch(elf_plan *plan, uint64_t offset, uint64_t size) {
  uint8_t *bytes = xarena_alloc(&plan->arena, (size_t)size);
  plan->patches =
      xgrow(plan->patches, plan->patch_count, &plan->patch_capacity, 256, sizeof *plan->patches);
  plan->patches[plan->patch_count++] = (elf_patch){offset, size, bytes};
  return bytes;
}

static void patch_word(elf_plan *plan, const uint8_t *at, uint64_t value) {
  kdl_store_u64(add_patch(plan, (uint64_t)(at - plan->image.data), 8), value);
}

/* Patches the addend of a relocation, and the relocated word where the linker left the same
 * number. */
static void patch_pointer(void *user, const elf_pointer *pointer) {
  elf_plan *plan = user;
  uint64_t target = elf_plan_new_pointer(plan, pointer->place, pointer->target);
  if (target == pointer->target)
    return;
  const uint8_t *place = elf_image_at(&plan->image, pointer->place, 8);
  patch_word(plan, pointer->addend, target);
  if (place && place != pointer->addend && kdl_load_u64(place) == pointer->target)
    patch_word(plan, place, target);
}

/* Updates the sizes of changed images in SYCL's table. */
static void patch_sycl_sizes(elf_plan *plan) {
  for (size_t i = 0; i < plan->image_ref_count; ++i) {
    const elf_image_ref *record = &plan->image_refs[i];
    const elf_unit *unit = &plan->units[record->unit];
    const uint8_t *size = elf_image_at(&plan->image, record->place + 8, 8);
    if (record->is_table && unit->new_size != unit->size && size)
      patch_word(plan, size, unit->listed_size);
  }
}

/* The section at an address in the output: for a split section, the right part. */
static size_t section_part_at(const elf_plan *plan, const section_list *list, size_t section,
                              uint64_t address) {
  const kdl_elf_section *first = &list->items[section];
  if (!elf_plan_zone(plan, section) || address - first->address <= first->size)
    return section;
  for (size_t i = plan->image.section_count; i < list->count; ++i) {
    const kdl_elf_section *part = &list->items[i];
    if (part->type == first->type && part->name == first->name &&
        address - part->address <= part->size)
      return i;
  }
  return section;
}

/* Dynamic symbols keep their values, since their targets do not move. */
static void patch_symbol(elf_plan *plan, const section_list *list, const uint8_t *raw,
                         bool is_dynamic) {
  kdl_elf_symbol symbol = kdl_elf_load_symbol(&plan->image.header, raw);
  if (!elf_symbol_has_address(raw) || symbol.section >= plan->image.section_count)
    return;
  uint64_t now = symbol.address;
  if (!is_dynamic)
    now = elf_plan_is_in_moved_block(plan, now) ? now + plan->block.delta
                                                : elf_plan_new_address(plan, now);
  size_t part = section_part_at(plan, list, symbol.section, now);
  if (now == symbol.address && part == symbol.section)
    return;
  enum { patched = offsetof(Elf64_Sym, st_size) };
  uint8_t *bytes = add_patch(plan, (uint64_t)(raw - plan->image.data), patched);
  memcpy(bytes, raw, patched);
  kdl_store_u16(bytes + offsetof(Elf64_Sym, st_shndx), (uint16_t)part);
  kdl_store_u64(bytes + offsetof(Elf64_Sym, st_value), now);
}

/* A table that moves is not patched. */
static void patch_symbols(elf_plan *plan, const section_list *list) {
  for (size_t i = 1; i < plan->image.section_count; ++i) {
    const kdl_elf_section *table = &plan->image.sections[i];
    bool moves = table->flags & SHF_ALLOC && elf_plan_is_in_moved_block(plan, table->address);
    if ((table->type != SHT_SYMTAB && table->type != SHT_DYNSYM) || moves)
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym))
      patch_symbol(plan, list, plan->image.data + table->offset + at, table->type == SHT_DYNSYM);
  }
}

static void patch_dynamic(elf_plan *plan) {
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(&plan->image, &count);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t *entry = table + i * sizeof(Elf64_Dyn);
    uint64_t value = kdl_load_u64(entry + 8);
    if (elf_tag_may_move(kdl_load_u64(entry)) && elf_plan_is_in_moved_block(plan, value))
      patch_word(plan, entry + 8, value + plan->block.delta);
  }
}

/* The program headers, and zeros where the bytes after them have moved away. */
static void patch_segments(elf_plan *plan) {
  const elf_image *image = &plan->image;
  uint64_t start = image->header.segment_table;
  uint64_t end = start + plan->segment_count * sizeof(Elf64_Phdr), block_end = 0;
  const kdl_elf_segment *load = elf_image_loaded(image, plan->block.address, plan->block.size);
  if (plan->block.size && load)
    block_end = load->offset + (plan->block.address - load->address) + plan->block.size;
  end = block_end > end ? block_end : end;
  uint8_t *table = add_patch(plan, start, end - start);
  memset(table, 0, (size_t)(end - start));
  for (size_t i = 0; i < plan->segment_count; ++i)
    elf_segment_store(table + i * sizeof(Elf64_Phdr), &plan->segments[i]);
}

/* ------------------------------------------------------------------------------------------ */
/* Section headers                                                                              */

/* Extends the part [*start, *end) by the items before `limit`; returns the next item. */
static size_t extend_part_over_items(const elf_plan *plan, const elf_zone *zone, size_t next,
                                     uint64_t limit, uint64_t *start, uint64_t *end) {
  for (; next < zone->first_item + zone->item_count && plan->items[next].address < limit; ++next) {
    const elf_item *item = &plan->items[next];
    if (item->unit == ELF_MOVED_BLOCK)
      continue;
    if (*end == *start)
      *start = item->address;
    *end = item->address + item->size;
  }
  return next;
}

/* The parts of a zone between holes. The first is the section itself, the others are new sections
 * like it. */
static void describe_zone(const elf_plan *plan, size_t zone_index, section_list *list) {
  const elf_zone *zone = &plan->zones[zone_index];
  kdl_elf_section *section = &list->items[zone->section];
  kdl_elf_section part = *section;
  size_t parts = 0, next = zone->first_item;
  uint64_t start = zone->address, end = zone->address;
  bool has_hole = false;
  for (size_t h = 0; h < plan->hole_count; ++h)
    has_hole |= plan->holes[h].zone == zone_index;
  /* LLVM's tools read this section to its end, so it is trimmed. */
  bool is_trimmed = section->type == KDL_SHT_LLVM_OFFLOADING;
  if (!has_hole && !is_trimmed)
    return;
  for (size_t h = 0; h <= plan->hole_count; ++h) {
    const elf_hole *hole = h < plan->hole_count ? &plan->holes[h] : NULL;
    if (hole && hole->zone != zone_index)
      continue;
    uint64_t limit = hole ? hole->start : zone->address + zone->size;
    next = extend_part_over_items(plan, zone, next, limit, &start, &end);
    if (!hole && end > start && !is_trimmed)
      end = zone->address + zone->size; /* nothing was removed after it */
    if (end > start) {
      part.address = start;
      part.offset = elf_plan_new_offset_of_address(plan, start);
      part.size = end - start;
      *(parts++ ? &list->items[list->count++] : section) = part;
    }
    if (hole)
      start = end = hole->end;
  }
  if (parts == 0) { /* all of it was removed */
    section->offset = elf_plan_new_offset_of_address(plan, zone->address);
    section->size = 0;
  }
}

/* A hole is a NOBITS section, so that strip and other tools keep the memory of its segment. */
static void describe_holes(const elf_plan *plan, section_list *list) {
  const elf_image *image = &plan->image;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    const elf_hole *hole = &plan->holes[i];
    list->items[list->count++] = (kdl_elf_section){
        .name = (uint32_t)image->sections[image->header.section_names].size,
        .type = SHT_NOBITS,
        .flags = image->sections[plan->zones[hole->zone].section].flags,
        .address = hole->start,
        .offset = elf_plan_new_offset_of_address(plan, hole->start),
        .size = hole->end - hole->start,
        .alignment = 1,
    };
  }
}

static section_list describe_sections(const elf_plan *plan) {
  const elf_image *image = &plan->image;
  section_list list = {.items =
                           xcalloc(image->section_count + 2 * plan->hole_count, sizeof *list.items),
                       .count = image->section_count};
  for (size_t i = 0; i < image->section_count; ++i) {
    kdl_elf_section *section = &list.items[i];
    *section = image->sections[i];
    bool is_loaded = section->flags & SHF_ALLOC && section->size && section->type != SHT_NOBITS;
    if (is_loaded && elf_plan_is_in_moved_block(plan, section->address)) {
      section->address += plan->block.delta;
      section->offset = elf_plan_new_offset_of_address(plan, section->address);
    } else if (i) {
      section->offset = elf_plan_new_offset(plan, section->offset);
    }
  }
  for (size_t i = 0; i < plan->zone_count; ++i)
    describe_zone(plan, i, &list);
  describe_holes(plan, &list);
  return list;
}

/* ------------------------------------------------------------------------------------------ */
/* Pieces                                                                                       */

static kdl_status sort_patches(elf_plan *plan) {
  kdl_array_sort(plan->patches, plan->patch_count, sizeof *plan->patches,
                 offsetof(elf_patch, offset));
  for (size_t i = 1; i < plan->patch_count; ++i) {
    if (plan->patches[i].offset < plan->patches[i - 1].offset + plan->patches[i - 1].size)
      return kdl_fail(KDL_BAD_FILE, "%s: found tables on top of one another", plan->image.name);
  }
  return KDL_OK;
}

/* Bytes of the input with patches applied. */
static void put_patched(const elf_plan *plan, uint64_t start, uint64_t end, thin_output *out) {
  size_t i = kdl_array_lower_bound(plan->patches, plan->patch_count, sizeof *plan->patches,
                                   offsetof(elf_patch, offset), start);
  for (; i < plan->patch_count && plan->patches[i].offset < end; ++i) {
    const elf_patch *patch = &plan->patches[i];
    thin_output_add(out, plan->image.data + start, patch->offset - start);
    thin_output_add(out, patch->bytes, patch->size);
    start = patch->offset + patch->size;
  }
  if (end > start)
    thin_output_add(out, plan->image.data + start, end - start);
}

/* Zeros between two addresses of a zone, without the holes, which are left out of the file. */
static void put_zero_gap(const elf_plan *plan, size_t zone, uint64_t start, uint64_t end,
                         thin_output *out) {
  uint64_t zeros = end - start;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    const elf_hole *hole = &plan->holes[i];
    if (hole->zone == zone && hole->start >= start && hole->end <= end)
      zeros -= (hole->end - hole->start) & -plan->image.page;
  }
  thin_output_add_zeros(out, zeros);
}

static void put_item(const elf_plan *plan, const elf_zone *zone, const elf_item *item,
                     thin_output *out) {
  uint64_t offset = zone->offset + (item->address - zone->address);
  if (item->unit == ELF_MOVED_BLOCK)
    thin_output_add(out, elf_image_at(&plan->image, plan->block.address, plan->block.size),
                    plan->block.size);
  else if (item->unit == ELF_NO_UNIT || plan->units[item->unit].mobility == ELF_FROZEN)
    put_patched(plan, offset, offset + item->size, out);
  else
    thin_output_append(out, &plan->contents, plan->units[item->unit].content, item->size);
}

static void put_zone(const elf_plan *plan, size_t index, thin_output *out) {
  const elf_zone *zone = &plan->zones[index];
  uint64_t at = zone->address;
  for (size_t i = zone->first_item; i < zone->first_item + zone->item_count; ++i) {
    const elf_item *item = &plan->items[i];
    put_zero_gap(plan, index, at, item->address, out);
    put_item(plan, zone, item, out);
    at = item->address + item->size;
  }
  put_zero_gap(plan, index, at, zone->address + zone->size, out);
}

static void put_all(const elf_plan *plan, uint64_t end, thin_output *out) {
  uint64_t at = 0;
  for (size_t i = 0; i < plan->zone_count; ++i) {
    put_patched(plan, at, plan->zones[i].offset, out);
    put_zone(plan, i, out);
    at = plan->zones[i].offset + plan->zones[i].size;
  }
  put_patched(plan, at, end, out);
}

/* ------------------------------------------------------------------------------------------ */
/* The output                                                                                   */

static void store_sections(uint8_t *table, const section_list *list) {
  for (size_t i = 0; i < list->count; ++i)
    elf_section_store(table + i * sizeof(Elf64_Shdr), &list->items[i]);
}

static void patch_header(elf_plan *plan, uint64_t section_table, size_t section_count) {
  uint8_t *header = add_patch(plan, 0, sizeof(Elf64_Ehdr));
  memcpy(header, plan->image.data, sizeof(Elf64_Ehdr));
  kdl_store_u64(header + offsetof(Elf64_Ehdr, e_shoff), section_table);
  kdl_store_u16(header + offsetof(Elf64_Ehdr, e_phnum), (uint16_t)plan->segment_count);
  kdl_store_u16(header + offsetof(Elf64_Ehdr, e_shnum), (uint16_t)section_count);
}

/* The number of section headers is unchanged: they stay in place. */
static kdl_status write_in_place(elf_plan *plan, const section_list *list, thin_output *out) {
  const elf_image *image = &plan->image;
  uint64_t table = image->header.section_table;
  patch_header(plan, elf_plan_new_offset(plan, table), list->count);
  store_sections(add_patch(plan, table, list->count * sizeof(Elf64_Shdr)), list);
  KDL_TRY(sort_patches(plan));
  put_all(plan, image->size, out);
  return KDL_OK;
}

/* There are more section headers: the section names and the headers go to the end of the file,
 * replacing the old headers where those were last. */
static kdl_status write_grown(elf_plan *plan, section_list *list, thin_output *out) {
  static const char hole_name[] = ".hole";
  const elf_image *image = &plan->image;
  const kdl_elf_section *old_names = &image->sections[image->header.section_names];
  kdl_elf_section *names = &list->items[image->header.section_names];
  uint64_t table = image->header.section_table;
  bool is_last = table + image->section_count * sizeof(Elf64_Shdr) == image->size;
  uint64_t end = is_last ? table : image->size;
  names->offset = elf_plan_new_offset(plan, end);
  names->size = old_names->size + sizeof hole_name;
  uint64_t new_table = (names->offset + names->size + 7) & ~(uint64_t)7;
  patch_header(plan, new_table, list->count);
  KDL_TRY(sort_patches(plan));
  put_all(plan, end, out);
  thin_output_add(out, image->data + old_names->offset, old_names->size);
  thin_output_add(out, hole_name, sizeof hole_name);
  thin_output_add_zeros(out, new_table - out->size);
  store_sections(thin_output_add_uninitialized(out, list->count * sizeof(Elf64_Shdr)), list);
  return KDL_OK;
}

kdl_status elf_plan_write(elf_plan *plan, thin_output *out) {
  KDL_TRY(elf_image_visit_relocations(&plan->image, patch_pointer, NULL, plan));
  section_list list = describe_sections(plan);
  patch_symbols(plan, &list);
  patch_dynamic(plan);
  patch_segments(plan);
  patch_sycl_sizes(plan);
  kdl_status status = list.count == plan->image.section_count ? write_in_place(plan, &list, out)
                                                              : write_grown(plan, &list, out);
  free(list.items);
  return status;
}
