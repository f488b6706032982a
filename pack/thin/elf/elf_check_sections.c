/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checks the ELF header, section headers and symbols of the output, parsed again: each section has
 * its old attributes and bytes and is where a segment loads it; the parts of a split section
 * contain all of it without overlap; symbols follow what they name.
 */
#include "pack/thin/elf/elf_check.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

#define WRONG elf_check_fail

/* Everything except the offset of the section headers and the two header counts. */
static bool is_same_header(const uint8_t *old, const uint8_t *now) {
  return memcmp(old, now, 40) == 0 && memcmp(old + 48, now + 48, 8) == 0 &&
         memcmp(old + 58, now + 58, 2) == 0 && memcmp(old + 62, now + 62, 2) == 0;
}

/* The attributes that never change. */
static bool has_same_attributes(const kdl_elf_section *old, const kdl_elf_section *now) {
  return old->name == now->name && old->type == now->type && old->flags == now->flags &&
         old->link == now->link && old->info == now->info && old->alignment == now->alignment &&
         old->entry_size == now->entry_size;
}

static bool has_symbols(const kdl_elf_section *section) {
  return section->type == SHT_SYMTAB || section->type == SHT_DYNSYM;
}

/* ------------------------------------------------------------------------------------------ */
/* New offsets of sections                                                                      */

/* Whether a segment loads the section's bytes at its address. */
static bool is_loaded(const elf_checker *c, const kdl_elf_section *section) {
  const kdl_elf_segment *load = elf_check_loaded(c, section->address, section->size);
  return load && section->offset - load->offset == section->address - load->address;
}

/* Whether part of a range of the input is loaded, and so compared as memory. */
static bool touches_memory(const elf_image *image, uint64_t offset, uint64_t size) {
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *load = &image->segments[i];
    if (load->type == PT_LOAD && offset < load->offset + load->file_size &&
        load->offset < offset + size)
      return true;
  }
  return false;
}

/* A section that must have its old bytes, address and size. */
static kdl_status check_kept(const elf_checker *c, size_t index) {
  const elf_plan *plan = c->plan;
  const kdl_elf_section *old = &plan->image.sections[index], *now = &c->sections[index];
  bool has_bytes = old->type != SHT_NOBITS && old->size;
  bool is_moved =
      has_bytes && old->flags & SHF_ALLOC && elf_plan_is_in_moved_block(plan, old->address);
  uint64_t more = index == plan->image.header.section_names ? now->size - old->size : 0;
  if (now->address != old->address + (is_moved ? plan->block.delta : 0) ||
      now->size != old->size + more || now->size < old->size)
    return WRONG(c, "a section elsewhere", now->address);
  if (!has_bytes)
    return KDL_OK;
  if (!kdl_in_range(now->offset, now->size, c->out->size))
    return WRONG(c, "a section beyond the file", now->offset);
  if (old->flags & SHF_ALLOC) /* its bytes are compared as memory */
    return is_loaded(c, now) ? KDL_OK : WRONG(c, "a section not loaded", now->address);
  const uint8_t *bytes = plan->image.data + old->offset;
  if (has_symbols(old) || touches_memory(&plan->image, old->offset, old->size))
    return KDL_OK;
  for (uint64_t done = 0, part; done < old->size; done += part) {
    const uint8_t *found = thin_output_view(c->out, now->offset + done, &part);
    if (part > old->size - done)
      part = old->size - done;
    if (!elf_check_is_same(bytes + done, found, part))
      return WRONG(c, "other bytes in a section", now->offset + done);
  }
  return KDL_OK;
}

/* A hole must be where the plan has one, in memory without bytes in the file. */
static kdl_status check_hole(const elf_checker *c, const kdl_elf_section *section) {
  const elf_plan *plan = c->plan;
  const uint8_t *bytes;
  uint64_t size;
  bool is_known = false;
  for (size_t i = 0; i < plan->hole_count; ++i)
    is_known |= plan->holes[i].start == section->address &&
                plan->holes[i].end - plan->holes[i].start == section->size;
  if (!is_known || !elf_check_view_new(c, section->address, &bytes, &size) || bytes ||
      size < section->size)
    return WRONG(c, "a section for another hole", section->address);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections that were split                                                                     */

/* The next header of a zone from an index on, or the number of headers. */
static size_t next_zone_section(const elf_checker *c, const elf_zone *zone, size_t from) {
  const elf_image *image = &c->plan->image;
  if (from <= zone->section)
    return zone->section;
  for (size_t i = from < image->section_count ? image->section_count : from; i < c->section_count;
       ++i) {
    const kdl_elf_section *part = &c->sections[i];
    if (part->type != SHT_NOBITS && part->address - zone->address < zone->size)
      return i;
  }
  return c->section_count;
}

#define EACH_PART(i, from)                                                                         \
  size_t i = next_zone_section(c, zone, from);                                                     \
  i < c->section_count;                                                                            \
  i = next_zone_section(c, zone, i + 1)

static kdl_status check_part(const elf_checker *c, const elf_zone *zone, size_t index) {
  const kdl_elf_section *part = &c->sections[index];
  if (!has_same_attributes(&c->plan->image.sections[zone->section], part))
    return WRONG(c, "a part of another section", part->address);
  if (part->size == 0)
    return KDL_OK;
  if (part->address < zone->address ||
      !kdl_in_range(part->address - zone->address, part->size, zone->size) ||
      !kdl_in_range(part->offset, part->size, c->out->size) || !is_loaded(c, part))
    return WRONG(c, "a part of a section elsewhere", part->address);
  for (EACH_PART(i, index + 1)) {
    if (part->address < c->sections[i].address + c->sections[i].size &&
        c->sections[i].address < part->address + part->size)
      return WRONG(c, "parts of a section on top of one another", part->address);
  }
  return KDL_OK;
}

/* All remaining bytes of a section must be in one of its parts. */
static kdl_status check_zone_sections(const elf_checker *c, const elf_zone *zone) {
  const elf_plan *plan = c->plan;
  for (EACH_PART(i, 0))
    KDL_TRY(check_part(c, zone, i));
  for (size_t k = zone->first_item; k < zone->first_item + zone->item_count; ++k) {
    const elf_item *item = &plan->items[k];
    bool is_found = item->unit == ELF_MOVED_BLOCK || item->size == 0;
    for (EACH_PART(i, 0))
      is_found |=
          item->address >= c->sections[i].address &&
          kdl_in_range(item->address - c->sections[i].address, item->size, c->sections[i].size);
    if (!is_found)
      KDL_TRY(WRONG(c, "no section for a container", item->address));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Symbols                                                                                      */

/* Whether the symbol's section is the old one, or the part of it at the symbol's address. */
static bool is_same_or_split_section(const elf_checker *c, size_t old_section, size_t section,
                                     uint64_t value) {
  const elf_zone *zone = elf_plan_zone(c->plan, old_section);
  if (!zone)
    return section == old_section;
  bool is_part = false, is_in_some = false;
  for (EACH_PART(i, 0)) {
    is_part |= i == section;
    is_in_some |= value - c->sections[i].address <= c->sections[i].size;
  }
  return is_part &&
         (!is_in_some || value - c->sections[section].address <= c->sections[section].size);
}

static bool is_same_symbol(const elf_checker *c, const kdl_elf_section *table, const uint8_t *old,
                           const uint8_t *now) {
  const elf_plan *plan = c->plan;
  uint64_t value = kdl_load_u64(old + 8);
  size_t section = kdl_load_u16(old + 6);
  if (!elf_symbol_has_address(old) || section >= plan->image.section_count ||
      (table->flags & SHF_ALLOC && elf_plan_is_in_moved_block(plan, table->address)))
    return memcmp(old, now, sizeof(Elf64_Sym)) == 0;
  if (table->type == SHT_SYMTAB)
    value = elf_plan_is_in_moved_block(plan, value) ? value + plan->block.delta
                                                    : elf_plan_new_address(plan, value);
  return memcmp(old, now, 6) == 0 && memcmp(old + 16, now + 16, 8) == 0 &&
         kdl_load_u64(now + 8) == value &&
         is_same_or_split_section(c, section, kdl_load_u16(now + 6), value);
}

static kdl_status check_symbols(const elf_checker *c, size_t index) {
  const kdl_elf_section *table = &c->plan->image.sections[index];
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->size; at += sizeof(Elf64_Sym)) {
    uint8_t now[sizeof(Elf64_Sym)];
    thin_output_read(c->out, c->sections[index].offset + at, now, sizeof now);
    if (!is_same_symbol(c, table, c->plan->image.data + table->offset + at, now))
      return WRONG(c, "another symbol", c->sections[index].offset + at);
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status check_input_section(const elf_checker *c, size_t index) {
  const kdl_elf_section *old = &c->plan->image.sections[index];
  if (!has_same_attributes(old, &c->sections[index]))
    return WRONG(c, "another section header", old->address);
  if (index == 0 || old->type == 0 || elf_plan_zone(c->plan, index))
    return KDL_OK;
  kdl_status status = check_kept(c, index);
  return status == KDL_OK && has_symbols(old) ? check_symbols(c, index) : status;
}

/* A hole, or a part of a split section. */
static kdl_status check_added_section(const elf_checker *c, size_t index) {
  const kdl_elf_section *section = &c->sections[index];
  const elf_plan *plan = c->plan;
  if (section->name >= c->sections[plan->image.header.section_names].size)
    return WRONG(c, "a section without a name", section->address);
  if (section->type == SHT_NOBITS)
    return check_hole(c, section);
  for (size_t i = 0; i < plan->zone_count; ++i) {
    if (section->address - plan->zones[i].address < plan->zones[i].size)
      return KDL_OK; /* checked with its zone */
  }
  return WRONG(c, "a section of nothing", section->address);
}

kdl_status elf_check_sections(const elf_checker *c) {
  const elf_plan *plan = c->plan;
  uint8_t header[sizeof(Elf64_Ehdr)];
  thin_output_read(c->out, 0, header, sizeof header);
  if (!is_same_header(plan->image.data, header))
    return WRONG(c, "another ELF header", 0);
  if (c->section_count < plan->image.section_count)
    return WRONG(c, "section headers beyond the file", 0);
  for (size_t i = 0; i < c->section_count; ++i)
    KDL_TRY(i < plan->image.section_count ? check_input_section(c, i) : check_added_section(c, i));
  for (size_t i = 0; i < plan->zone_count; ++i)
    KDL_TRY(check_zone_sections(c, &plan->zones[i]));
  return KDL_OK;
}
