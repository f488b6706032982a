/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Chooses the holes that are worth a segment, makes the segments around them, and room for their
 * headers. */
#include "pack/thin/elf/elf_plan.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <stdlib.h>
#include <string.h>

/* Every mapping costs time at each start, and a process may have at most 65,530. */
enum { most_mappings = 48, least_share = 128, block_alignment = 64 };

/* ------------------------------------------------------------------------------------------ */
/* Offsets                                                                                      */

/* Only whole pages are left out of the file, so that offsets stay equal modulo a page. */
static uint64_t hole_file_size(const elf_plan *plan, const elf_hole *hole) {
  return (hole->end - hole->start) & -plan->image.page;
}

static uint64_t hole_offset(const elf_plan *plan, const elf_hole *hole) {
  const elf_zone *zone = &plan->zones[hole->zone];
  return zone->offset + (hole->start - zone->address);
}

uint64_t elf_plan_new_offset(const elf_plan *plan, uint64_t old_offset) {
  uint64_t less = 0;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    if (plan->holes[i].is_taken && hole_offset(plan, &plan->holes[i]) < old_offset)
      less += hole_file_size(plan, &plan->holes[i]);
  }
  return old_offset - less;
}

uint64_t elf_plan_new_offset_of_address(const elf_plan *plan, uint64_t address) {
  const kdl_elf_segment *load = elf_image_loaded(&plan->image, address, 0);
  return load ? elf_plan_new_offset(plan, load->offset + (address - load->address)) : 0;
}

uint64_t elf_plan_new_address(const elf_plan *plan, uint64_t address) {
  const elf_unit *unit = elf_plan_unit_before(plan, address);
  return unit && unit->address == address ? unit->new_address : address;
}

/* ------------------------------------------------------------------------------------------ */
/* Holes                                                                                        */

static int compare_hole_sizes(const void *left, const void *right) {
  const elf_hole *a = *(elf_hole *const *)left, *b = *(elf_hole *const *)right;
  uint64_t x = a->end - a->start, y = b->end - b->start;
  return x != y ? (x < y) - (x > y) : (a->start > b->start) - (a->start < b->start);
}

/* The zeros, and the segment after them. */
static size_t mappings_of(const elf_hole *hole) {
  return hole->is_tail ? 1 : 2;
}

/* The largest holes first; the list is sorted by size, with the chosen ones at the front. */
static elf_hole **select_holes(elf_plan *plan, size_t *out_taken) {
  elf_hole **order = xcalloc(plan->hole_count, sizeof *order);
  for (size_t i = 0; i < plan->hole_count; ++i)
    order[i] = &plan->holes[i];
  qsort(order, plan->hole_count, sizeof *order, compare_hole_sizes);
  uint64_t all = 0;
  for (size_t i = 0; i < plan->hole_count; ++i)
    all += plan->holes[i].end - plan->holes[i].start;
  size_t taken = 0;
  for (; taken < plan->hole_count; ++taken) {
    size_t more = mappings_of(order[taken]);
    if (plan->mappings + more > most_mappings ||
        order[taken]->end - order[taken]->start < all / least_share)
      break;
    plan->mappings += more;
    order[taken]->is_taken = true;
  }
  *out_taken = taken;
  return order;
}

/* ------------------------------------------------------------------------------------------ */
/* Segments                                                                                     */

static void put_segment(elf_plan *plan, const kdl_elf_segment *whole, uint64_t start,
                        uint64_t file_end, uint64_t memory_end, uint32_t flags) {
  uint64_t offset = elf_plan_new_offset(plan, whole->offset + (start - whole->address));
  uint64_t apart = start - offset, alignment = whole->alignment;
  if (apart && alignment > (apart & -apart))
    alignment = apart & -apart;
  plan->segments[plan->segment_count++] = (kdl_elf_segment){
      .type = whole->type,
      .flags = flags,
      .offset = offset,
      .address = start,
      .physical = whole->physical + (start - whole->address),
      .file_size = file_end - start,
      .memory_size = memory_end - start,
      .alignment = alignment,
  };
}

/* Zeros belong to the segment before them, unless that is executable: systems refuse executable
 * anonymous memory, so the zeros then get a segment of their own. */
static void split_load(elf_plan *plan, const kdl_elf_segment *load) {
  uint64_t start = load->address, end = load->address + load->file_size;
  uint64_t memory_end = load->address + load->memory_size;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    const elf_hole *hole = &plan->holes[i];
    if (!hole->is_taken || plan->zones[hole->zone].segment != load)
      continue;
    uint64_t zeros_end = hole->is_tail ? memory_end : hole->end;
    bool is_code = load->flags & PF_X;
    put_segment(plan, load, start, hole->start, is_code ? hole->start : zeros_end, load->flags);
    if (is_code)
      put_segment(plan, load, hole->start, hole->start, zeros_end, load->flags & ~(uint32_t)PF_X);
    start = hole->end;
    if (hole->is_tail)
      return;
  }
  put_segment(plan, load, start, end, memory_end, load->flags);
}

bool elf_plan_is_in_moved_block(const elf_plan *plan, uint64_t address) {
  return plan->block.size && address - plan->block.address < plan->block.size;
}

static void make_segments(elf_plan *plan) {
  const elf_image *image = &plan->image;
  plan->segment_count = 0;
  free(plan->segments);
  plan->segments = xcalloc(image->segment_count + 2 * plan->hole_count, sizeof *plan->segments);
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *segment = &image->segments[i];
    if (segment->type == PT_LOAD) {
      split_load(plan, segment);
      continue;
    }
    kdl_elf_segment *made = &plan->segments[plan->segment_count++];
    *made = *segment;
    made->offset = elf_plan_new_offset(plan, segment->offset);
    if (segment->file_size && elf_plan_is_in_moved_block(plan, segment->address)) {
      made->address += plan->block.delta;
      made->physical += plan->block.delta;
      made->offset = elf_plan_new_offset_of_address(plan, made->address);
    }
  }
  for (size_t i = 0; i < plan->segment_count; ++i) {
    if (plan->segments[i].type == PT_PHDR)
      plan->segments[i].file_size = plan->segments[i].memory_size =
          plan->segment_count * sizeof(Elf64_Phdr);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Room for their headers                                                                       */

/* Found only through the program headers or the dynamic section. */
static bool may_move(const elf_image *image, const kdl_elf_section *section) {
  if (!(section->flags & SHF_ALLOC))
    return false;
  switch (section->type) {
  case SHT_NOTE:
  case SHT_HASH:
  case SHT_GNU_HASH:
  case SHT_DYNSYM:
    return true;
  case SHT_STRTAB:
    return strcmp(elf_image_section_name(image, section), ".dynstr") == 0;
  case SHT_PROGBITS:
    return strcmp(elf_image_section_name(image, section), ".interp") == 0;
  default:
    return false;
  }
}

/* The next section with bytes in the file, at or after an offset; or NULL. */
static const kdl_elf_section *next_section(const elf_image *image, uint64_t offset) {
  const kdl_elf_section *next = NULL;
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != SHT_NOBITS && section->size && section->offset >= offset &&
        (!next || section->offset < next->offset))
      next = section;
  }
  return next;
}

typedef struct {
  uint64_t start, end;
  bool is_referenced;
} watch;

static void watch_pointer(void *user, const elf_pointer *pointer) {
  watch *w = user;
  w->is_referenced |= pointer->target - w->start < w->end - w->start ||
                      pointer->place + 7 - w->start < w->end - w->start + 7;
}

static void watch_symbol(void *user, uint64_t address) {
  watch *w = user;
  w->is_referenced |= address - w->start < w->end - w->start;
}

static bool is_referenced(const elf_plan *plan, uint64_t start, uint64_t end) {
  const elf_image *image = &plan->image;
  watch w = {start, end, !elf_code_is_known(image)};
  size_t count;
  const uint8_t *table = elf_image_dynamic_table(image, &count);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t *entry = table + i * sizeof(Elf64_Dyn);
    uint64_t tag = kdl_load_u64(entry);
    w.is_referenced |= elf_tag_is_address(tag) && !elf_tag_may_move(tag) &&
                       kdl_load_u64(entry + 8) - start < end - start;
  }
  if (elf_image_visit_relocations(image, watch_pointer, watch_pointer, &w) != KDL_OK)
    return true;
  elf_image_visit_symbols(image, watch_symbol, &w);
  for (size_t i = 0; i < plan->used_count; ++i)
    w.is_referenced |= plan->used[i].start < end && plan->used[i].end > start;
  return w.is_referenced;
}

/* The bytes after the table up to its new end; false where something there cannot move. Bytes that
 * no section, header or pointer refers to are free: patchelf leaves some. */
static bool find_block(const elf_plan *plan, uint64_t need, uint64_t *out_start,
                       uint64_t *out_end) {
  const elf_image *image = &plan->image;
  uint64_t table_end = image->header.segment_table + image->segment_count * sizeof(Elf64_Phdr);
  uint64_t start = 0, end = table_end;
  for (;;) {
    const kdl_elf_section *next = next_section(image, end);
    if (!next || next->offset >= image->header.segment_table + need)
      break;
    if (!may_move(image, next))
      return false;
    if (start == 0)
      start = next->offset;
    end = next->offset + next->size;
  }
  uint64_t free_end = start ? start : image->header.segment_table + need, address;
  if (!elf_image_address_of_offset(image, table_end, free_end - table_end, &address) ||
      is_referenced(plan, address, address + (free_end - table_end)))
    return false;
  /* What a program header describes moves completely. */
  for (size_t i = 0; i < image->segment_count; ++i) {
    const kdl_elf_segment *segment = &image->segments[i];
    uint64_t last = segment->offset + segment->file_size;
    uint64_t from = start ? start : free_end, to = start ? end : free_end;
    if (segment->type != PT_LOAD && segment->type != PT_PHDR && segment->file_size &&
        segment->offset < to && last > table_end && (segment->offset < from || last > to))
      return false;
  }
  *out_start = start;
  *out_end = start ? end : 0;
  return true;
}

/* Puts the block before a hole, which becomes smaller. */
static bool place_block(elf_plan *plan, elf_hole *hole, uint64_t address, uint64_t size) {
  const elf_zone *zone = &plan->zones[hole->zone];
  uint64_t from = zone->address, page = plan->image.page;
  if (hole->item != ELF_NO_UNIT)
    from = plan->items[hole->item].address + plan->items[hole->item].size;
  uint64_t to = from + ((address - from) & (block_alignment - 1));
  uint64_t start = (to + size + page - 1) & -page;
  if (start >= hole->end || hole->end - start < page)
    return false;
  elf_item *items = plan->items =
      xgrow(plan->items, plan->item_count, &plan->item_capacity, 256, sizeof *plan->items);
  size_t at = hole->item == ELF_NO_UNIT ? zone->first_item : hole->item + 1;
  memmove(&items[at + 1], &items[at], (plan->item_count - at) * sizeof *items);
  items[at] = (elf_item){to, size, ELF_MOVED_BLOCK};
  ++plan->item_count;
  ++plan->zones[hole->zone].item_count;
  for (size_t i = hole->zone + 1; i < plan->zone_count; ++i)
    ++plan->zones[i].first_item;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    if (plan->holes[i].item != ELF_NO_UNIT && plan->holes[i].item >= at)
      ++plan->holes[i].item;
  }
  hole->item = at;
  hole->start = start;
  plan->block = (elf_moved_block){address, size, to - address};
  return true;
}

/* Whether the table has room, possibly after the bytes behind it have moved. */
static bool make_room_for_headers(elf_plan *plan, elf_hole **order, size_t taken) {
  uint64_t start, end, address;
  if (plan->segment_count <= plan->image.segment_count)
    return true;
  if (!find_block(plan, plan->segment_count * sizeof(Elf64_Phdr), &start, &end))
    return false;
  if (end == 0)
    return true;
  if (!elf_image_address_of_offset(&plan->image, start, end - start, &address) ||
      is_referenced(plan, address, address + (end - start)))
    return false;
  for (int pass = 0; pass < 2; ++pass) { /* read-only segments first */
    for (size_t i = 0; i < taken; ++i) {
      bool is_written = plan->zones[order[i]->zone].segment->flags & PF_W;
      if (is_written == (pass == 1) && place_block(plan, order[i], address, end - start))
        return true;
    }
  }
  return false;
}

kdl_status elf_plan_make_segments(elf_plan *plan) {
  size_t taken;
  elf_hole **order = select_holes(plan, &taken);
  make_segments(plan);
  while (!make_room_for_headers(plan, order, taken)) {
    if (taken == 0) {
      free(order);
      return kdl_fail(KDL_UNSUPPORTED, "%s: found no room for program headers", plan->image.name);
    }
    elf_hole *smallest = order[--taken];
    smallest->is_taken = false;
    plan->mappings -= mappings_of(smallest);
    make_segments(plan);
  }
  free(order);
  size_t left = 0;
  for (size_t i = 0; i < plan->hole_count; ++i) {
    if (plan->holes[i].is_taken)
      plan->holes[left++] = plan->holes[i];
  }
  plan->hole_count = left;
  make_segments(plan); /* with the smaller hole and the moved block */
  return KDL_OK;
}
