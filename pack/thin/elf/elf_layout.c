/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lays out the sections with containers again from their start, and finds the free space. */
#include "pack/thin/elf/elf_plan.h"

enum { least_alignment = 8, longest_tail = 64, usual_hole = 64 * 1024 };

static void add_item(elf_plan *plan, elf_zone *zone, uint64_t address, uint64_t size, size_t unit) {
  plan->items =
      xgrow(plan->items, plan->item_count, &plan->item_capacity, 256, sizeof *plan->items);
  plan->items[plan->item_count++] = (elf_item){address, size, unit};
  ++zone->item_count;
}

static uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & -alignment;
}

/* The alignment that its address and its section guarantee. */
static uint64_t unit_alignment(const elf_plan *plan, const elf_unit *unit) {
  uint64_t section = plan->image.sections[unit->section].alignment;
  uint64_t own = unit->address & -unit->address;
  uint64_t alignment = own < section ? own : section;
  return alignment > least_alignment ? alignment & -alignment : least_alignment;
}

/* Bytes outside of units stay, zeros too, and nothing moves past them. Two exceptions: a few zeros
 * after a unit move with it, and padding before the next unit is free. */
static void add_filler(elf_plan *plan, elf_zone *zone, uint64_t start, uint64_t end,
                       elf_unit *before, const elf_unit *next, uint64_t *cursor) {
  const uint8_t *bytes = plan->image.data + zone->offset + (start - zone->address);
  uint64_t first = 0, last = end - start;
  while (first < last && bytes[first] == 0)
    ++first;
  while (last > first && bytes[last - 1] == 0)
    --last;
  bool is_tail = before && end - start <= longest_tail;
  bool is_padding = before && next && end - start < unit_alignment(plan, next);
  if (first == last && (is_tail || is_padding)) {
    before->tail = is_padding ? 0 : end - start;
    before->trailing_space = end - start;
    *cursor += before->tail;
    return;
  }
  *cursor = end;
  if (first < last)
    add_item(plan, zone, start + first, last - first, ELF_NO_UNIT);
}

static void lay_out_zone(elf_plan *plan, elf_zone *zone, size_t first, size_t end) {
  uint64_t cursor = zone->address, seen = zone->address;
  elf_unit *before = NULL;
  zone->first_item = plan->item_count;
  for (size_t i = first; i < end; ++i) {
    elf_unit *unit = &plan->units[i];
    if (unit->address > seen)
      add_filler(plan, zone, seen, unit->address, before, unit, &cursor);
    seen = unit->address + unit->size;
    uint64_t lowest = align_up(cursor, unit_alignment(plan, unit));
    bool moves = unit->mobility == ELF_MOVABLE && lowest < unit->address;
    unit->new_address = moves ? lowest : unit->address;
    cursor = unit->new_address + unit->new_size;
    before = unit;
    add_item(plan, zone, unit->new_address, unit->new_size, i);
  }
  if (zone->address + zone->size > seen)
    add_filler(plan, zone, seen, zone->address + zone->size, before, NULL, &cursor);
}

/* ------------------------------------------------------------------------------------------ */
/* Holes                                                                                        */

/* The whole pages between two addresses of a zone, if they are worth a hole. */
static void add_hole(elf_plan *plan, size_t zone_index, size_t item, uint64_t from, uint64_t to) {
  const elf_zone *zone = &plan->zones[zone_index];
  bool is_tail =
      to == zone->address + zone->size && to == zone->segment->address + zone->segment->file_size;
  uint64_t page = plan->image.page;
  uint64_t start = align_up(from, page);
  uint64_t end = is_tail ? to : to & -page;
  uint64_t least =
      plan->layout_opts.min_hole_size ? plan->layout_opts.min_hole_size : (uint64_t)usual_hole;
  if (end <= start || end - start < least || end - start < page)
    return;
  plan->holes = xgrow(plan->holes, plan->hole_count, &plan->hole_capacity, 64, sizeof *plan->holes);
  plan->holes[plan->hole_count++] =
      (elf_hole){.start = start, .end = end, .zone = zone_index, .item = item, .is_tail = is_tail};
}

static void find_holes(elf_plan *plan, size_t zone_index) {
  const elf_zone *zone = &plan->zones[zone_index];
  uint64_t from = zone->address;
  size_t before = ELF_NO_UNIT;
  for (size_t i = zone->first_item; i < zone->first_item + zone->item_count; ++i) {
    add_hole(plan, zone_index, before, from, plan->items[i].address);
    from = plan->items[i].address + plan->items[i].size;
    before = i;
  }
  add_hole(plan, zone_index, before, from, zone->address + zone->size);
}

void elf_plan_lay_out(elf_plan *plan) {
  plan->zones = xcalloc(plan->unit_count, sizeof *plan->zones);
  for (size_t first = 0, end; first < plan->unit_count; first = end) {
    size_t section = plan->units[first].section;
    const kdl_elf_section *header = &plan->image.sections[section];
    for (end = first; end < plan->unit_count && plan->units[end].section == section;)
      ++end;
    elf_zone *zone = &plan->zones[plan->zone_count];
    *zone = (elf_zone){.section = section,
                       .address = header->address,
                       .size = header->size,
                       .offset = header->offset,
                       .segment = elf_image_loaded(&plan->image, header->address, header->size)};
    lay_out_zone(plan, zone, first, end);
    if (!plan->layout_opts.sparse)
      find_holes(plan, plan->zone_count);
    ++plan->zone_count;
  }
}

const elf_zone *elf_plan_zone(const elf_plan *plan, size_t section) {
  for (size_t i = 0; i < plan->zone_count; ++i) {
    if (plan->zones[i].section == section)
      return &plan->zones[i];
  }
  return NULL;
}
