/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which containers may move: those whose start is the target of relative relocations and to which
 * nothing else refers, as far as that can be found.
 *
 * Other references, and what they hold in place:
 *   - Another relocation, a dynamic symbol, or code (elf_code.c) that refers to a container: pins
 *     it, and freezes it if the target is certainly after its header.
 *   - No relocation at all: the container is found by counting from the one before it, which is
 *     pinned too.
 * A pointer to the end of a container stays as it is: containers keep their order and only move
 * down, so that the range between the two pointers still contains the data, followed by zeros. A
 * container with a relocation in it is not rewritten, nor one that SYCL's table of images describes
 * by address and size. SYCL's own images are rewritten only if all references to them are known
 * (elf_sycl.c).
 */
#include "pack/thin/elf/elf_plan.h"
#include "support/base/bytes.h"
#include "support/base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { reach = 64 };

typedef struct {
  elf_plan *plan;
  const kdl_elf_section *described; /* SYCL's table of images, or NULL */
  uint64_t bad_place;               /* a relocated address in a header, or 0 */
} reference_visitor;

static void pin_unit(elf_unit *unit, elf_mobility how) {
  if (unit->mobility < how)
    unit->mobility = how;
}

/* The size of the header, which is rewritten with the container. */
static uint64_t header_size(const elf_unit *unit) {
  switch (unit->container.kind) {
  case THIN_FATBIN:
  case THIN_RELOCATABLE_FATBIN:
    return 16;
  case THIN_SYCL:
    return 0;
  default:
    return 32;
  }
}

/* Pins units that something other than a relative relocation refers to: at the unit, or up to a few
 * bytes before its start in its section, from where a compiler may count. */
static void pin_units_in_span(const elf_plan *plan, const elf_span *where) {
  bool is_exact = where->end - where->start == 1;
  elf_unit *unit = elf_plan_unit_before(plan, where->end - 1 + reach);
  for (; unit && unit >= plan->units && unit->address + unit->size > where->start; --unit) {
    const kdl_elf_section *section = &plan->image.sections[unit->section];
    bool is_in = where->start - unit->address < unit->size;
    bool is_behind = is_in && where->start - unit->address >= header_size(unit);
    if (where->end > unit->address || where->start >= section->address)
      pin_unit(unit, is_exact && is_behind ? ELF_FROZEN : ELF_PINNED);
  }
}

static void pin_unit_at(void *user, uint64_t address) {
  const elf_plan *plan = user;
  elf_unit *unit = elf_plan_unit_before(plan, address);
  if (unit && address - unit->address < unit->size)
    pin_unit(unit, address - unit->address < header_size(unit) ? ELF_PINNED : ELF_FROZEN);
}

/* ------------------------------------------------------------------------------------------ */
/* Relocations and symbols                                                                      */

static bool is_in_header(const elf_image *image, uint64_t place) {
  const uint8_t *at = elf_image_at(image, place, 8);
  uint64_t offset = at ? (uint64_t)(at - image->data) : UINT64_MAX - 8;
  uint64_t segments = image->header.segment_table + image->segment_count * sizeof(Elf64_Phdr);
  uint64_t sections = image->header.section_table + image->section_count * sizeof(Elf64_Shdr);
  return offset < sizeof(Elf64_Ehdr) ||
         (offset < segments && offset + 8 > image->header.segment_table) ||
         (offset < sections && offset + 8 > image->header.section_table);
}

static void visit_relocated_place(reference_visitor *s, uint64_t place) {
  const elf_plan *plan = s->plan;
  if (is_in_header(&plan->image, place))
    s->bad_place = place;
  elf_unit *unit = elf_plan_unit_before(plan, place + 7);
  if (unit && place < unit->address + unit->size)
    pin_unit(unit, ELF_FROZEN);
}

/* Freezes units in a range that SYCL's table describes. */
static void freeze_image(const elf_plan *plan, uint64_t address, uint64_t size) {
  elf_unit *unit = address + size > address ? elf_plan_unit_before(plan, address + size - 1) : NULL;
  for (; unit && unit >= plan->units && unit->address + unit->size > address; --unit) {
    if (unit->container.kind != THIN_SYCL)
      pin_unit(unit, ELF_FROZEN);
  }
}

/* Freezes the images of addresses that the linker left in place; visit_relative_pointer handles
 * relocated ones. */
static void visit_sycl_table(const elf_plan *plan, const kdl_elf_section *table) {
  enum { entry = 16 };
  const uint8_t *entries = table ? plan->image.data + table->offset : NULL;
  for (uint64_t at = 0; table && at + entry <= table->size; at += entry)
    freeze_image(plan, kdl_load_u64(entries + at), kdl_load_u64(entries + at + 8));
}

static void visit_relative_pointer(void *user, const elf_pointer *pointer) {
  reference_visitor *s = user;
  elf_plan *plan = s->plan;
  visit_relocated_place(s, pointer->place);
  if (s->described && pointer->place - s->described->address < s->described->size) {
    const uint8_t *entry = elf_image_at(&plan->image, pointer->place, 16);
    freeze_image(plan, pointer->target, entry ? kdl_load_u64(entry + 8) : 1);
  }
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  const elf_image_ref *before = elf_image_ref_at(plan, pointer->place - 8);
  if (elf_image_ref_at(plan, pointer->place) || (before && before->has_end))
    return;
  if (unit && unit->container.kind == THIN_OFFLOAD)
    return; /* handled by elf_offload.c */
  if (unit && unit->address == pointer->target && unit->container.kind != THIN_SYCL)
    unit->is_referenced = true;
  else
    pin_unit_at(plan, pointer->target);
}

static void visit_other_relocation(void *user, const elf_pointer *pointer) {
  reference_visitor *s = user;
  visit_relocated_place(s, pointer->place);
  pin_unit_at(s->plan, pointer->target);
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

static void visit_code_reference(void *user, const elf_span *where, bool is_number) {
  elf_plan *plan = user;
  if (!is_number)
    pin_units_in_span(plan, where);
  plan->used = xgrow(plan->used, plan->used_count, &plan->used_capacity, 64, sizeof *plan->used);
  plan->used[plan->used_count++] = *where;
}

/* A section that may move to make room for program headers, and may have a name in source code. */
static bool may_be_named_in_source(const elf_image *image, const kdl_elf_section *section) {
  return section->flags & SHF_ALLOC && section->size &&
         (section->type == SHT_NOTE ||
          (section->type == SHT_PROGBITS &&
           strcmp(elf_image_section_name(image, section), ".interp") == 0));
}

/* The bytes between the program headers and the next section; a section may have been there. */
static bool find_header_gap(const elf_image *image, elf_span *out_span) {
  uint64_t start = image->header.segment_table + image->segment_count * sizeof(Elf64_Phdr),
           end = image->size;
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (section->type != SHT_NOBITS && section->size && section->offset >= start &&
        section->offset < end)
      end = section->offset;
  }
  if (end == start || !elf_image_address_of_offset(image, start, end - start, &out_span->start))
    return false;
  out_span->end = out_span->start + (end - start);
  return true;
}

static void find_in_code(elf_plan *plan) {
  const elf_image *image = &plan->image;
  elf_span *spans = xmalloc((plan->unit_count + image->section_count + 1) * sizeof *spans);
  size_t count = 0;
  for (size_t i = 0; i < plan->unit_count; ++i)
    spans[count++] =
        (elf_span){plan->units[i].address, plan->units[i].address + plan->units[i].size};
  for (size_t i = 1; i < image->section_count; ++i) {
    const kdl_elf_section *section = &image->sections[i];
    if (may_be_named_in_source(image, section))
      spans[count++] = (elf_span){section->address, section->address + section->size};
  }
  count += find_header_gap(image, &spans[count]);
  kdl_array_sort(spans, count, sizeof *spans, offsetof(elf_span, start));
  elf_code_find_references(image,
                           &(elf_reference_scan){spans, count, reach, visit_code_reference, plan});
  free(spans);
}

/* ------------------------------------------------------------------------------------------ */

/* A container without a reference is reached from the one before it, which must therefore stay. */
static void pin_unreferenced_arrays(const elf_plan *plan) {
  for (size_t i = 0; i < plan->unit_count; ++i) {
    elf_unit *unit = &plan->units[i];
    if (unit->is_referenced || unit->container.kind == THIN_OFFLOAD)
      continue;
    pin_unit(unit, ELF_PINNED);
    if (i && plan->units[i - 1].section == unit->section)
      pin_unit(&plan->units[i - 1], ELF_PINNED);
  }
}

kdl_status elf_plan_find_references(elf_plan *plan) {
  const elf_image *image = &plan->image;
  uint64_t value;
  reference_visitor s = {plan, elf_sycl_table(image), 0};
  elf_sycl_find_image_refs(plan);
  KDL_TRY(elf_image_visit_relocations(image, visit_relative_pointer, visit_other_relocation, &s));
  if (s.bad_place)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found a relocation of address 0x%" PRIx64 ", expected none of headers",
                    image->name, s.bad_place);
  KDL_TRY(elf_offload_find_image_refs(plan));
  visit_sycl_table(plan, s.described);
  pin_unreferenced_arrays(plan);
  elf_image_visit_symbols(image, pin_unit_at, plan);
  if (elf_code_is_known(image))
    find_in_code(plan);
  bool is_known = image->header.machine == EM_X86_64 || image->header.machine == EM_AARCH64;
  bool may_move = is_known && image->header.type == ET_DYN && !plan->layout_opts.sparse &&
                  !elf_image_dynamic(image, DT_REL, &value) &&
                  !elf_image_dynamic(image, ELF_DT_ANDROID_REL, &value) &&
                  !elf_image_dynamic(image, ELF_DT_ANDROID_RELA, &value) &&
                  !elf_image_dynamic(image, ELF_DT_ANDROID_RELR, &value);
  for (size_t i = 0; i < plan->unit_count && !may_move; ++i)
    pin_unit(&plan->units[i], ELF_PINNED);
  elf_offload_freeze_sections(plan);
  return KDL_OK;
}
