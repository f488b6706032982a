/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The output of a plan: pointers and tables that say where things lie now, and all pieces. */
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "thin/elf/elf_plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  kdl_elf_section *items;
  size_t count;
} section_list;

/* ------------------------------------------------------------------------------------------ */
/* Patches                                                                                      */

static uint8_t *add_patch(elf_plan *plan, uint64_t offset, uint64_t size) {
  elf_patch *patches =
      kdl_array_grow(plan->patches, plan->patch_count, &plan->patch_capacity, 256, sizeof *patches);
  uint8_t *bytes = patches ? kdl_arena_alloc(&plan->arena, (size_t)size) : NULL;
  if (patches)
    plan->patches = patches;
  if (bytes)
    patches[plan->patch_count++] = (elf_patch){offset, size, bytes};
  return bytes;
}

static bool patch_word(elf_plan *plan, const uint8_t *at, uint64_t value) {
  uint8_t *bytes = add_patch(plan, (uint64_t)(at - plan->image.data), 8);
  if (bytes)
    kdl_store_u64(bytes, value);
  return bytes != NULL;
}

typedef struct {
  elf_plan *plan;
  bool is_short; /* of memory */
} patcher;

/* The addend, and what linkers leave at the place where that is the same. */
static void patch_pointer(void *user, const elf_pointer *pointer) {
  patcher *p = user;
  uint64_t target = elf_plan_pointer(p->plan, pointer->place, pointer->target);
  if (target == pointer->target || p->is_short)
    return;
  const uint8_t *place = elf_image_at(&p->plan->image, pointer->place, 8);
  p->is_short = !patch_word(p->plan, pointer->addend, target);
  if (place && place != pointer->addend && kdl_load_u64(place) == pointer->target && !p->is_short)
    p->is_short = !patch_word(p->plan, place, target);
}

/* What SYCL's table says of images that changed. */
static bool patch_sizes(elf_plan *plan) {
  for (size_t i = 0; i < plan->record_count; ++i) {
    const elf_record *record = &plan->records[i];
    const elf_unit *unit = &plan->units[record->unit];
    const uint8_t *size = elf_image_at(&plan->image, record->place + 8, 8);
    if (record->is_table && unit->new_size != unit->size &&
        (!size || !patch_word(plan, size, unit->said)))
      return false;
  }
  return true;
}

static void ignore_other(void *user, const elf_pointer *pointer) {
  (void)user;
  (void)pointer;
}

/* The section that an address is in now, of those that one was split into; or that one. */
static size_t part_at(const elf_plan *plan, const section_list *list, size_t section,
                      uint64_t address) {
  const kdl_elf_section *first = &list->items[section];
  if (address - first->address <= first->size)
    return section;
  for (size_t i = plan->image.section_count; i < list->count; ++i) {
    const kdl_elf_section *part = &list->items[i];
    if (part->type == first->type && part->name == first->name &&
        address - part->address <= part->size)
      return i;
  }
  return section;
}

static bool is_zone(const elf_plan *plan, size_t section) {
  for (size_t i = 0; i < plan->zone_count; ++i) {
    if (plan->zones[i].section == section)
      return true;
  }
  return false;
}

/* Dynamic symbols keep their values, since what they point to stays; a table that moves is moved as
 * it is. */
static bool patch_symbols(elf_plan *plan, const section_list *list) {
  for (size_t i = 1; i < plan->image.section_count; ++i) {
    const kdl_elf_section *table = &plan->image.sections[i];
    bool is_in_block = table->flags & SHF_ALLOC && plan->block.size &&
                       table->address - plan->block.address < plan->block.size;
    if ((table->type != SHT_SYMTAB && table->type != SHT_DYNSYM) || is_in_block)
      continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
      const uint8_t *symbol = plan->image.data + table->offset + at;
      uint64_t value = kdl_load_u64(symbol + 8), now = value;
      size_t section = kdl_load_u16(symbol + 6);
      if (!elf_symbol_has_address(symbol) || section >= plan->image.section_count)
        continue;
      if (table->type == SHT_SYMTAB)
        now = plan->block.size && value - plan->block.address < plan->block.size
                  ? value + plan->block.delta
                  : elf_plan_moved(plan, value);
      size_t part = is_zone(plan, section) ? part_at(plan, list, section, now) : section;
      if (now == value && part == section)
        continue;
      uint8_t *bytes = add_patch(plan, (uint64_t)(symbol - plan->image.data), 16);
      if (!bytes)
        return false;
      memcpy(bytes, symbol, 16);
      kdl_store_u16(bytes + 6, (uint16_t)part);
      kdl_store_u64(bytes + 8, now);
    }
  }
  return true;
}

static bool patch_dynamic(elf_plan *plan) {
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(&plan->image, &count);
  for (size_t i = 0; i < count && plan->block.size; ++i) {
    const uint8_t *entry = table + i * sizeof(Elf64_Dyn);
    uint64_t value = kdl_load_u64(entry + 8);
    if (elf_tag_may_move(kdl_load_u64(entry)) && value - plan->block.address < plan->block.size &&
        !patch_word(plan, entry + 8, value + plan->block.delta))
      return false;
  }
  return true;
}

/* The table, and zeros where what followed it has moved. */
static bool patch_segments(elf_plan *plan) {
  const elf_image *image = &plan->image;
  uint64_t size = plan->segment_count * sizeof(Elf64_Phdr);
  uint64_t end = image->header.segment_table + size, block_end = 0;
  const kdl_elf_segment *load = elf_image_loaded(image, plan->block.address, plan->block.size);
  if (plan->block.size && load)
    block_end = load->offset + (plan->block.address - load->address) + plan->block.size;
  if (block_end > end)
    end = block_end;
  uint8_t *table = add_patch(plan, image->header.segment_table, end - image->header.segment_table);
  if (!table)
    return false;
  memset(table, 0, (size_t)(end - image->header.segment_table));
  for (size_t i = 0; i < plan->segment_count; ++i)
    elf_segment_store(table + i * sizeof(Elf64_Phdr), &plan->segments[i]);
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Section headers                                                                              */

/* Takes the items before `limit` into the part from *start to *end; returns the next one. */
static size_t span_items(const elf_plan *plan, const elf_zone *zone, size_t next, uint64_t limit,
                         uint64_t *start, uint64_t *end) {
  for (; next < zone->first_item + zone->item_count && plan->items[next].address < limit; ++next) {
    const elf_item *item = &plan->items[next];
    if (item->unit == ELF_THE_BLOCK)
      continue;
    if (*end == *start)
      *start = item->address;
    *end = item->address + item->size;
  }
  return next;
}

/* Parts of a zone between holes: the first is the section, the others are sections like it. */
static void describe_zone(const elf_plan *plan, size_t zone_index, section_list *list) {
  const elf_zone *zone = &plan->zones[zone_index];
  kdl_elf_section *section = &list->items[zone->section];
  kdl_elf_section part = *section;
  size_t parts = 0, taken = 0;
  uint64_t start = zone->address, end = zone->address;
  for (size_t h = 0; h < plan->hole_count; ++h)
    taken += plan->holes[h].zone == zone_index && plan->holes[h].is_taken;
  /* LLVM's tools read its section to the end. */
  bool is_trimmed = section->type == KDL_SHT_LLVM_OFFLOADING;
  if (taken == 0 && !is_trimmed)
    return;
  size_t next = zone->first_item;
  for (size_t h = 0; h <= plan->hole_count; ++h) {
    const elf_hole *hole = h < plan->hole_count ? &plan->holes[h] : NULL;
    if (hole && (hole->zone != zone_index || !hole->is_taken))
      continue;
    uint64_t limit = hole ? hole->start : zone->address + zone->size;
    next = span_items(plan, zone, next, limit, &start, &end);
    if (!hole && end > start && !is_trimmed)
      end = zone->address + zone->size; /* nothing was taken behind it */
    if (end > start) {
      part.address = start;
      part.offset = elf_plan_offset_of(plan, start);
      part.size = end - start;
      *(parts++ ? &list->items[list->count++] : section) = part;
    }
    if (hole)
      start = end = hole->end;
  }
  if (parts == 0) { /* all of it went */
    section->offset = elf_plan_offset_of(plan, zone->address);
    section->size = 0;
  }
}

/* A hole is a section without bytes, by which strip and others keep the memory of its segment. */
static void describe_holes(const elf_plan *plan, section_list *list) {
  for (size_t i = 0; i < plan->hole_count; ++i) {
    const elf_hole *hole = &plan->holes[i];
    if (!hole->is_taken)
      continue;
    list->items[list->count++] = (kdl_elf_section){
        .name = (uint32_t)plan->image.sections[plan->image.header.section_names].size,
        .type = SHT_NOBITS,
        .flags = plan->image.sections[plan->zones[hole->zone].section].flags,
        .address = hole->start,
        .offset = elf_plan_offset_of(plan, hole->start),
        .size = hole->end - hole->start,
        .alignment = 1,
    };
  }
}

static kdl_status describe_sections(const elf_plan *plan, section_list *list) {
  const elf_image *image = &plan->image;
  list->count = image->section_count;
  list->items = calloc(image->section_count + 2 * plan->hole_count + 1, sizeof *list->items);
  if (!list->items)
    return elf_plan_no_memory(plan);
  for (size_t i = 0; i < image->section_count; ++i) {
    kdl_elf_section *section = &list->items[i];
    *section = image->sections[i];
    bool is_moved = section->flags & SHF_ALLOC && section->size && section->type != SHT_NOBITS &&
                    plan->block.size && section->address - plan->block.address < plan->block.size;
    if (is_moved) {
      section->address += plan->block.delta;
      section->offset = elf_plan_offset_of(plan, section->address);
    } else if (i) {
      section->offset = elf_plan_offset(plan, section->offset);
    }
  }
  for (size_t i = 0; i < plan->zone_count; ++i)
    describe_zone(plan, i, list);
  describe_holes(plan, list);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Pieces                                                                                       */

static int compare_patches(const void *left, const void *right) {
  uint64_t a = ((const elf_patch *)left)->offset, b = ((const elf_patch *)right)->offset;
  return (a > b) - (a < b);
}

static size_t first_patch(const elf_plan *plan, uint64_t offset) {
  return kdl_array_first(plan->patches, plan->patch_count, sizeof *plan->patches,
                         offsetof(elf_patch, offset), offset);
}

/* Bytes of the input with their patches. */
static kdl_status put_old(const elf_plan *plan, uint64_t start, uint64_t end, thin_output *out) {
  kdl_status status = KDL_OK;
  for (size_t i = first_patch(plan, start);
       i < plan->patch_count && plan->patches[i].offset < end && status == KDL_OK; ++i) {
    const elf_patch *patch = &plan->patches[i];
    status = thin_output_add(out, plan->image.data + start, patch->offset - start);
    if (status == KDL_OK)
      status = thin_output_add(out, patch->bytes, patch->size);
    start = patch->offset + patch->size;
  }
  return status == KDL_OK && end > start
             ? thin_output_add(out, plan->image.data + start, end - start)
             : status;
}

/* Zeros between two addresses of a zone, without what is left out of the file. */
static kdl_status put_gap(const elf_plan *plan, size_t zone, uint64_t start, uint64_t end,
                          thin_output *out) {
  uint64_t zeros = end - start;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    const elf_hole *hole = &plan->holes[i];
    if (hole->is_taken && hole->zone == zone && hole->start >= start && hole->end <= end)
      zeros -= (hole->end - hole->start) & -plan->image.page;
  }
  return thin_output_add_zeros(out, zeros);
}

static kdl_status put_item(const elf_plan *plan, const elf_zone *zone, const elf_item *item,
                           thin_output *out) {
  const elf_image *image = &plan->image;
  if (item->unit == ELF_THE_BLOCK)
    return thin_output_add(out, elf_image_at(image, plan->block.address, plan->block.size),
                           plan->block.size);
  bool is_old = item->unit == ELF_NO_UNIT || plan->units[item->unit].hold == ELF_FROZEN;
  uint64_t offset = zone->offset + (item->address - zone->address);
  return is_old ? put_old(plan, offset, offset + item->size, out)
                : thin_output_append(out, &plan->contents, plan->units[item->unit].content,
                                     item->size);
}

static kdl_status put_zone(const elf_plan *plan, size_t index, thin_output *out) {
  const elf_zone *zone = &plan->zones[index];
  uint64_t at = zone->address;
  kdl_status status = KDL_OK;
  for (size_t i = zone->first_item; i < zone->first_item + zone->item_count && status == KDL_OK;
       ++i) {
    const elf_item *item = &plan->items[i];
    status = put_gap(plan, index, at, item->address, out);
    if (status == KDL_OK)
      status = put_item(plan, zone, item, out);
    at = item->address + item->size;
  }
  return status == KDL_OK ? put_gap(plan, index, at, zone->address + zone->size, out) : status;
}

static kdl_status put_all(const elf_plan *plan, uint64_t end, thin_output *out) {
  uint64_t at = 0;
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < plan->zone_count && status == KDL_OK; ++i) {
    status = put_old(plan, at, plan->zones[i].offset, out);
    if (status == KDL_OK)
      status = put_zone(plan, i, out);
    at = plan->zones[i].offset + plan->zones[i].size;
  }
  return status == KDL_OK ? put_old(plan, at, end, out) : status;
}

/* ------------------------------------------------------------------------------------------ */

static const char hole_name[] = ".hole";

/* A table that has grown goes to the end of the file, and the names before it. */
static uint64_t names_at(const elf_plan *plan, uint64_t end) {
  return elf_plan_offset(plan, end);
}

static uint64_t names_size(const elf_plan *plan) {
  return plan->image.sections[plan->image.header.section_names].size + sizeof hole_name;
}

static uint64_t table_at(const elf_plan *plan, uint64_t end) {
  return (names_at(plan, end) + names_size(plan) + 7) & ~(uint64_t)7;
}

static kdl_status put_tables(const elf_plan *plan, const section_list *list, uint64_t end,
                             thin_output *out) {
  const kdl_elf_section *names = &plan->image.sections[plan->image.header.section_names];
  kdl_status status = thin_output_add(out, plan->image.data + names->offset, names->size);
  if (status == KDL_OK)
    status = thin_output_add(out, hole_name, sizeof hole_name);
  if (status == KDL_OK)
    status = thin_output_add_zeros(out, table_at(plan, end) - out->size);
  uint8_t *table =
      status == KDL_OK ? thin_output_add_room(out, list->count * sizeof(Elf64_Shdr)) : NULL;
  if (!table)
    return kdl_error_status();
  for (size_t i = 0; i < list->count; ++i)
    elf_section_store(table + i * sizeof(Elf64_Shdr), &list->items[i]);
  return KDL_OK;
}

static kdl_status write_with(elf_plan *plan, section_list *list, thin_output *out) {
  const elf_image *image = &plan->image;
  uint64_t table_size = image->section_count * sizeof(Elf64_Shdr), end = image->size;
  bool grows = list->count != image->section_count;
  patcher p = {plan, false};
  kdl_status status = elf_image_relocations(image, patch_pointer, ignore_other, &p);
  uint8_t *header = add_patch(plan, 0, sizeof(Elf64_Ehdr));
  uint8_t *table = grows ? NULL : add_patch(plan, image->header.section_table, table_size);
  if (status == KDL_OK &&
      (p.is_short || !header || (!grows && !table) || !patch_symbols(plan, list) ||
       !patch_dynamic(plan) || !patch_segments(plan) || !patch_sizes(plan)))
    status = elf_plan_no_memory(plan);
  if (status != KDL_OK)
    return status;
  if (grows && image->header.section_table + table_size == image->size)
    end = image->header.section_table; /* the old table was the last of the file */
  memcpy(header, image->data, sizeof(Elf64_Ehdr));
  if (grows) {
    list->items[image->header.section_names].offset = names_at(plan, end);
    list->items[image->header.section_names].size = names_size(plan);
  }
  kdl_store_u64(header + 40,
                grows ? table_at(plan, end) : elf_plan_offset(plan, image->header.section_table));
  kdl_store_u16(header + 56, (uint16_t)plan->segment_count);
  kdl_store_u16(header + 60, (uint16_t)list->count);
  for (size_t i = 0; table && i < list->count; ++i)
    elf_section_store(table + i * sizeof(Elf64_Shdr), &list->items[i]);
  qsort(plan->patches, plan->patch_count, sizeof *plan->patches, compare_patches);
  for (size_t i = 1; i < plan->patch_count; ++i) {
    if (plan->patches[i].offset < plan->patches[i - 1].offset + plan->patches[i - 1].size)
      return kdl_fail(KDL_BAD_FILE, "%s: found tables on top of one another", image->name);
  }
  status = put_all(plan, end, out);
  return status == KDL_OK && grows ? put_tables(plan, list, end, out) : status;
}

kdl_status elf_plan_write(elf_plan *plan, thin_output *out) {
  section_list list = {NULL, 0};
  kdl_status status = describe_sections(plan, &list);
  if (status == KDL_OK)
    status = write_with(plan, &list, out);
  free(list.items);
  return status;
}
