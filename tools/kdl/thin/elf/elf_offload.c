/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OffloadBinaries that LLVM's linker wrapper left in a linked file, in the section
 * .llvm.offloading. OpenMP's runtime finds them by records in data: a pointer to the start of the
 * image inside the binary, and behind it one to the image's end.
 *
 *     data       | start, end, ... | start, end, ... |
 *                    |      |          |      |
 *     section    | header image     | header image     |
 *
 * A binary is a unit that stays as it is or goes. Those that stay lie together from the start of
 * the section, as LLVM's tools read them; the record of one that goes describes no bytes, at the
 * start of the section, which the runtime passes over. That takes all records to be known: where
 * something else points into such a section, all of it stays.
 */
#include "base/array.h"
#include "base/bytes.h"
#include "library/library.h"
#include "thin/elf/elf_plan.h"
#include "thin/kinds.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Binaries                                                                                     */

static bool is_described_in(const elf_plan *plan, size_t index, const thin_container *binary) {
  const kdl_container *container = plan->input->lib->container;
  const kdl_image *image = index < container->count ? &container->images[index] : NULL;
  return image && image->source->size == plan->input->size &&
         image->source->codec == KDL_CODEC_NONE && image->header_offset >= binary->offset &&
         image->header_offset - binary->offset < binary->size;
}

/* The one image of a binary, which is listed at *next or later, with none inside it; false where
 * it is otherwise. Images of a section are listed in their order. */
static bool find_image(const elf_plan *plan, thin_container *binary, size_t *next) {
  const kdl_container *container = plan->input->lib->container;
  while (*next < container->count && !is_described_in(plan, *next, binary))
    ++*next;
  size_t first = (*next)++;
  if (first >= container->count || is_described_in(plan, *next, binary))
    return false;
  const kdl_image *image = &container->images[first];
  binary->first = first;
  binary->count = 1;
  binary->kept = plan->choice->kept[first];
  return image->parent == KDL_PARENT_NONE && !image->problem && image->stored_size &&
         image->offset >= binary->offset &&
         kdl_in_range(image->offset - binary->offset, image->stored_size, binary->size) &&
         !(*next < container->count && container->images[*next].parent == first);
}

/* All that is in the section, or nothing of it. */
static kdl_status walk_section(const elf_plan *plan, const kdl_elf_section *section,
                               thin_container_list *list) {
  size_t before = list->count, next = 0;
  uint64_t end = section->offset + section->size;
  kdl_status status = KDL_OK;
  for (uint64_t at = section->offset; at < end && status == KDL_OK;) {
    const uint8_t *data = plan->image.data + at;
    thin_container binary = {.kind = THIN_OFFLOAD, .offset = at};
    if (thin_is_offload_binary(data, end - at))
      binary.size = kdl_load_u64(data + 8);
    if (binary.size == 0 || binary.size % 8 || binary.size > end - at ||
        !find_image(plan, &binary, &next)) {
      list->count = before;
      return KDL_OK;
    }
    status = elf_plan_add_container(plan, list, &binary);
    at += binary.size;
  }
  return status;
}

static int by_offset(const void *left, const void *right) {
  uint64_t a = ((const thin_container *)left)->offset, b = ((const thin_container *)right)->offset;
  return (a > b) - (a < b);
}

kdl_status elf_offload_find(const elf_plan *plan, thin_container_list *list) {
  size_t before = list->count;
  kdl_status status = KDL_OK;
  for (size_t i = 1; i < plan->image.section_count && status == KDL_OK; ++i) {
    const kdl_elf_section *section = &plan->image.sections[i];
    if (section->type == KDL_SHT_LLVM_OFFLOADING && section->flags & SHF_ALLOC)
      status = walk_section(plan, section, list);
  }
  if (list->count != before)
    qsort(list->items, list->count, sizeof *list->items, by_offset);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Records                                                                                      */

typedef struct {
  elf_plan *plan;
  bool is_short; /* of memory */
} recorder;

static bool is_binary(const elf_unit *unit) {
  return unit->container.kind == THIN_OFFLOAD;
}

static uint64_t image_start(const elf_plan *plan, const elf_unit *unit) {
  const kdl_image *image = &plan->input->lib->container->images[unit->container.first];
  return unit->address + (image->offset - unit->container.offset);
}

static uint64_t image_end(const elf_plan *plan, const elf_unit *unit) {
  return image_start(plan, unit) +
         plan->input->lib->container->images[unit->container.first].stored_size;
}

static void see_start(void *user, const elf_pointer *pointer) {
  recorder *r = user;
  elf_plan *plan = r->plan;
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  if (!unit || !is_binary(unit) || pointer->target != image_start(plan, unit))
    return;
  elf_record *records = kdl_array_grow(plan->records, plan->record_count, &plan->record_capacity,
                                       64, sizeof *records);
  r->is_short |= !records;
  if (!records)
    return;
  plan->records = records;
  records[plan->record_count++] =
      (elf_record){.place = pointer->place, .unit = (size_t)(unit - plan->units)};
}

static int by_place(const void *left, const void *right) {
  uint64_t a = ((const elf_record *)left)->place, b = ((const elf_record *)right)->place;
  return (a > b) - (a < b);
}

void elf_plan_sort_records(elf_plan *plan) {
  if (plan->record_count)
    qsort(plan->records, plan->record_count, sizeof *plan->records, by_place);
}

static elf_record *record_at(const elf_plan *plan, uint64_t place) {
  size_t at = kdl_array_first(plan->records, plan->record_count, sizeof *plan->records,
                              offsetof(elf_record, place), place);
  return at < plan->record_count && plan->records[at].place == place ? &plan->records[at] : NULL;
}

const elf_record *elf_plan_record(const elf_plan *plan, uint64_t place) {
  return record_at(plan, place);
}

static void see_end(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = ((recorder *)user)->plan;
  elf_record *record = record_at(plan, pointer->place - 8);
  const elf_unit *unit = record ? &plan->units[record->unit] : NULL;
  if (unit && is_binary(unit) && pointer->target == image_end(plan, unit))
    record->has_end = true;
}

/* A pointer into a binary that belongs to no record. One to the start of a section leads there
 * whatever lies in it: it belongs to what went before. */
static void see_stray(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = ((recorder *)user)->plan;
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  const elf_record *before = record_at(plan, pointer->place - 8);
  if (!unit || !is_binary(unit) || pointer->target - unit->address >= unit->size ||
      pointer->target == plan->image.sections[unit->section].address ||
      record_at(plan, pointer->place) || (before && before->has_end))
    return;
  unit->hold = ELF_FROZEN;
}

static void ignore_other(void *user, const elf_pointer *pointer) {
  (void)user;
  (void)pointer;
}

kdl_status elf_offload_find_records(elf_plan *plan) {
  const elf_image *image = &plan->image;
  recorder r = {plan, false};
  bool any = false;
  for (size_t i = 0; i < plan->unit_count; ++i)
    any |= is_binary(&plan->units[i]);
  if (!any)
    return KDL_OK;
  kdl_status status = elf_image_relocations(image, see_start, ignore_other, &r);
  if (status == KDL_OK && r.is_short)
    return elf_plan_no_memory(plan);
  elf_plan_sort_records(plan);
  if (status == KDL_OK)
    status = elf_image_relocations(image, see_end, ignore_other, &r);
  if (status == KDL_OK)
    status = elf_image_relocations(image, see_stray, ignore_other, &r);
  for (size_t i = 0; i < plan->record_count; ++i) {
    elf_unit *unit = &plan->units[plan->records[i].unit];
    if (!is_binary(unit))
      continue;
    unit->is_referenced = true;
    if (!plan->records[i].has_end)
      unit->hold = ELF_FROZEN;
  }
  return status;
}

void elf_offload_settle(elf_plan *plan) {
  for (size_t first = 0, end; first < plan->unit_count; first = end) {
    bool stays = false;
    for (end = first;
         end < plan->unit_count && plan->units[end].section == plan->units[first].section; ++end)
      stays |= plan->units[end].hold != ELF_MOVES || !plan->units[end].is_referenced;
    for (size_t i = first; i < end && stays; ++i) {
      if (is_binary(&plan->units[i]))
        plan->units[i].hold = ELF_FROZEN;
    }
  }
}

uint64_t elf_plan_pointer(const elf_plan *plan, uint64_t place, uint64_t target) {
  const elf_record *record = record_at(plan, place);
  bool is_end = !record;
  if (is_end) {
    record = record_at(plan, place - 8);
    if (!record || !record->has_end) {
      const elf_unit *unit = elf_plan_unit_before(plan, target);
      return unit && is_binary(unit) ? target : elf_plan_moved(plan, target);
    }
  }
  const elf_unit *unit = &plan->units[record->unit];
  if (!is_binary(unit))
    return unit->new_address + (is_end && !record->is_empty ? unit->new_size : 0);
  if (unit->new_size == 0)
    return plan->image.sections[unit->section].address;
  return target + (unit->new_address - unit->address);
}
