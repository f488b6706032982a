/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OffloadBinaries that LLVM's linker wrapper left in a linked file, in the section
 * .llvm.offloading. OpenMP's runtime finds them by records in data: a pointer to the start of the
 * image in the binary, followed by a pointer to the image's end.
 *
 *     data       | start, end, ... | start, end, ... |
 *                    |      |          |      |
 *     section    | header image     | header image     |
 *
 * A binary is a unit that stays unchanged or is removed. The remaining ones are packed at the start
 * of the section, as LLVM's tools expect. The record of a removed binary describes an empty range
 * at the start of the section, which the runtime skips. This needs all records to be known: where
 * anything else points into such a section, all of it stays.
 */
#include "lib/inspect/libraries.h"
#include "pack/thin/elf/elf_plan.h"
#include "pack/thin/file_kinds.h"
#include "support/base/array.h"
#include "support/base/bytes.h"
#include "support/base/error.h"
#include "tools/common/images/kinds.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------ */
/* Binaries                                                                                     */

static bool is_described_in(const elf_plan *plan, size_t index, const thin_container *binary) {
  kdl_library *lib = plan->input->lib;
  const kdl_stored_image *image =
      index < kdl_image_count(lib) ? &cli_stored_images(lib)[index] : NULL;
  return image && kdl_source_read(image->source).size == plan->input->size && !image->is_packed &&
         image->header_offset >= binary->offset &&
         image->header_offset - binary->offset < binary->size;
}

/* The only image of a binary, listed at *next or later, with no nested image; false otherwise.
 * Images of a section are listed in order. */
static bool find_image(const elf_plan *plan, thin_container *binary, size_t *next) {
  const kdl_stored_image *images = cli_stored_images(plan->input->lib);
  size_t count = kdl_image_count(plan->input->lib);
  while (*next < count && !is_described_in(plan, *next, binary))
    ++*next;
  size_t first = (*next)++;
  if (first >= count || is_described_in(plan, *next, binary))
    return false;
  const kdl_stored_image *image = &images[first];
  binary->first = first;
  binary->count = 1;
  binary->kept = plan->selection->kept[first];
  return image->parent == KDL_NO_PARENT && !image->problem && image->stored_size &&
         image->offset >= binary->offset &&
         kdl_in_range(image->offset - binary->offset, image->stored_size, binary->size) &&
         !(*next < count && images[*next].parent == first);
}

/* Finds all binaries of the section, or none if something in it is unknown. */
static void find_binaries(const elf_plan *plan, const kdl_elf_section *section,
                          thin_container_list *list) {
  size_t before = list->count, next = 0;
  uint64_t end = section->offset + section->size;
  for (uint64_t at = section->offset; at < end;) {
    const uint8_t *data = plan->image.data + at;
    thin_container binary = {.kind = THIN_OFFLOAD, .offset = at};
    if (thin_sniff(data, end - at) == THIN_KIND_OFFLOAD)
      binary.size = kdl_load_u64(data + 8);
    if (binary.size == 0 || binary.size % 8 || binary.size > end - at ||
        !find_image(plan, &binary, &next)) {
      list->count = before;
      return;
    }
    thin_containers_add(list, &binary);
    at += binary.size;
  }
}

void elf_offload_find(const elf_plan *plan, thin_container_list *list) {
  for (size_t i = 1; i < plan->image.section_count; ++i) {
    const kdl_elf_section *section = &plan->image.sections[i];
    if (section->type == KDL_SHT_LLVM_OFFLOADING && section->flags & SHF_ALLOC)
      find_binaries(plan, section, list);
  }
  thin_containers_sort(list);
}

/* ------------------------------------------------------------------------------------------ */
/* Records                                                                                      */

static bool is_binary(const elf_unit *unit) {
  return unit->container.kind == THIN_OFFLOAD;
}

static uint64_t image_start(const elf_plan *plan, const elf_unit *unit) {
  const kdl_stored_image *image = &cli_stored_images(plan->input->lib)[unit->container.first];
  return unit->address + (image->offset - unit->container.offset);
}

static uint64_t image_end(const elf_plan *plan, const elf_unit *unit) {
  return image_start(plan, unit) +
         cli_stored_images(plan->input->lib)[unit->container.first].stored_size;
}

void elf_image_refs_add(elf_plan *plan, const elf_image_ref *record) {
  plan->image_refs = xgrow(plan->image_refs, plan->image_ref_count, &plan->image_ref_capacity, 64,
                           sizeof *plan->image_refs);
  plan->image_refs[plan->image_ref_count++] = *record;
}

void elf_image_refs_sort(elf_plan *plan) {
  kdl_array_sort(plan->image_refs, plan->image_ref_count, sizeof *plan->image_refs,
                 offsetof(elf_image_ref, place));
}

elf_image_ref *elf_image_ref_at(const elf_plan *plan, uint64_t place) {
  size_t at =
      kdl_array_lower_bound(plan->image_refs, plan->image_ref_count, sizeof *plan->image_refs,
                            offsetof(elf_image_ref, place), place);
  return at < plan->image_ref_count && plan->image_refs[at].place == place ? &plan->image_refs[at]
                                                                           : NULL;
}

static void record_start(void *user, const elf_pointer *pointer) {
  elf_plan *plan = user;
  const elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  if (unit && is_binary(unit) && pointer->target == image_start(plan, unit))
    elf_image_refs_add(
        plan, &(elf_image_ref){.place = pointer->place, .unit = (size_t)(unit - plan->units)});
}

static void record_end(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = user;
  elf_image_ref *record = elf_image_ref_at(plan, pointer->place - 8);
  const elf_unit *unit = record ? &plan->units[record->unit] : NULL;
  if (unit && is_binary(unit) && pointer->target == image_end(plan, unit))
    record->has_end = true;
}

/* A pointer into a binary that belongs to no record. A pointer to the start of a section is
 * allowed: it is the record of a binary that was removed before. */
static void freeze_at_stray(void *user, const elf_pointer *pointer) {
  const elf_plan *plan = user;
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  const elf_image_ref *before = elf_image_ref_at(plan, pointer->place - 8);
  if (!unit || !is_binary(unit) || pointer->target - unit->address >= unit->size ||
      pointer->target == plan->image.sections[unit->section].address ||
      elf_image_ref_at(plan, pointer->place) || (before && before->has_end))
    return;
  unit->mobility = ELF_FROZEN;
}

kdl_status elf_offload_find_image_refs(elf_plan *plan) {
  const elf_image *image = &plan->image;
  bool any = false;
  for (size_t i = 0; i < plan->unit_count; ++i)
    any |= is_binary(&plan->units[i]);
  if (!any)
    return KDL_OK;
  KDL_TRY(elf_image_visit_relocations(image, record_start, NULL, plan));
  elf_image_refs_sort(plan);
  KDL_TRY(elf_image_visit_relocations(image, record_end, NULL, plan));
  KDL_TRY(elf_image_visit_relocations(image, freeze_at_stray, NULL, plan));
  for (size_t i = 0; i < plan->image_ref_count; ++i) {
    elf_unit *unit = &plan->units[plan->image_refs[i].unit];
    if (!is_binary(unit))
      continue;
    unit->is_referenced = true;
    if (!plan->image_refs[i].has_end)
      unit->mobility = ELF_FROZEN;
  }
  return KDL_OK;
}

void elf_offload_freeze_sections(elf_plan *plan) {
  for (size_t first = 0, end; first < plan->unit_count; first = end) {
    bool stays = false;
    for (end = first;
         end < plan->unit_count && plan->units[end].section == plan->units[first].section; ++end)
      stays |= plan->units[end].mobility != ELF_MOVABLE || !plan->units[end].is_referenced;
    for (size_t i = first; i < end && stays; ++i) {
      if (is_binary(&plan->units[i]))
        plan->units[i].mobility = ELF_FROZEN;
    }
  }
}

uint64_t elf_plan_new_pointer(const elf_plan *plan, uint64_t place, uint64_t target) {
  const elf_image_ref *record = elf_image_ref_at(plan, place);
  bool is_end = !record;
  if (is_end) {
    record = elf_image_ref_at(plan, place - 8);
    if (!record || !record->has_end) {
      const elf_unit *unit = elf_plan_unit_before(plan, target);
      return unit && is_binary(unit) ? target : elf_plan_new_address(plan, target);
    }
  }
  const elf_unit *unit = &plan->units[record->unit];
  if (!is_binary(unit))
    return unit->new_address + (is_end && !record->is_empty ? unit->new_size : 0);
  if (unit->new_size == 0)
    return plan->image.sections[unit->section].address;
  return target + (unit->new_address - unit->address);
}
