/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which containers may move: those whose start is the target of relative relocations, and that
 * nothing else refers to, as far as that can be told.
 *
 * What else there may be, and what it holds in place:
 *   - a relocation, dynamic symbol or instruction that points inside a container: that one;
 *   - a dynamic symbol or instruction that points to the start of one: others may have its address;
 *   - no relocation at all: the container is found by counting from one before it, which stays too.
 * A pointer behind the end of a container stays as it is: containers keep their order and move down
 * only, so what lies between the two pointers is still there, and zeros behind it.
 * A container with a relocation inside is not written again, nor one that SYCL's table of images
 * describes by its address and size. SYCL's images by themselves are known by all that leads to
 * them (elf_sycl.c), or not written again.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "thin/elf/elf_plan.h"

#include <inttypes.h>

typedef struct {
  const elf_plan *plan;
  const elf_section *described; /* SYCL's table of images, or NULL */
  uint64_t bad_place;           /* of a relocation in a header, or 0 */
} seer;

static void hold(elf_unit *unit, elf_hold how) {
  if (unit->hold < how)
    unit->hold = how;
}

/* Something other than a relative relocation of a pointer to its start points there. */
static void hold_at(const elf_plan *plan, uint64_t address) {
  elf_unit *unit = elf_plan_unit_before(plan, address);
  if (unit && address - unit->address < unit->size)
    hold(unit, unit->container.kind == THIN_SYCL ? ELF_FROZEN : ELF_STAYS);
}

/* ------------------------------------------------------------------------------------------ */
/* Relocations and symbols                                                                      */

static bool is_in_header(const elf_image *image, uint64_t place) {
  const uint8_t *at = elf_image_at(image, place, 8);
  uint64_t offset = at ? (uint64_t)(at - image->data) : UINT64_MAX - 8;
  uint64_t segments = image->segment_table + image->segment_count * ELF_SEGMENT_SIZE;
  uint64_t sections = image->section_table + image->section_count * ELF_SECTION_SIZE;
  return offset < ELF_HEADER_SIZE || (offset < segments && offset + 8 > image->segment_table) ||
         (offset < sections && offset + 8 > image->section_table);
}

static void see_place(seer *s, uint64_t place) {
  const elf_plan *plan = s->plan;
  if (is_in_header(&plan->image, place))
    s->bad_place = place;
  elf_unit *unit = elf_plan_unit_before(plan, place + 7);
  if (unit && place < unit->address + unit->size)
    hold(unit, ELF_FROZEN);
}

/* What SYCL's table says of an address and the bytes from there holds. */
static void freeze_image(const elf_plan *plan, uint64_t address, uint64_t size) {
  elf_unit *unit = address + size > address ? elf_plan_unit_before(plan, address + size - 1) : NULL;
  for (; unit && unit >= plan->units && unit->address + unit->size > address; --unit) {
    if (unit->container.kind != THIN_SYCL)
      hold(unit, ELF_FROZEN);
  }
}

/* Linkers leave addresses in place, or relocate them: see_pointer. */
static void see_described(const elf_plan *plan, const elf_section *table) {
  enum { entry = 16 };
  const uint8_t *entries = table ? plan->image.data + table->offset : NULL;
  for (uint64_t at = 0; table && at + entry <= table->size; at += entry)
    freeze_image(plan, kdl_load_u64(entries + at), kdl_load_u64(entries + at + 8));
}

static void see_pointer(void *user, const elf_pointer *pointer) {
  seer *s = user;
  const elf_plan *plan = s->plan;
  see_place(s, pointer->place);
  if (s->described && pointer->place - s->described->address < s->described->size) {
    const uint8_t *entry = elf_image_at(&plan->image, pointer->place, 16);
    freeze_image(plan, pointer->target, entry ? kdl_load_u64(entry + 8) : 1);
  }
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  const elf_record *before = elf_plan_record(plan, pointer->place - 8);
  if (elf_plan_record(plan, pointer->place) || (before && before->has_end))
    return;
  if (unit && unit->container.kind == THIN_OFFLOAD)
    return; /* elf_offload.c knows */
  if (unit && unit->address == pointer->target && unit->container.kind != THIN_SYCL)
    unit->is_referenced = true;
  else
    hold_at(plan, pointer->target);
}

static void see_other(void *user, uint64_t place) {
  see_place(user, place);
}

static void see_symbols(const elf_plan *plan) {
  for (size_t i = 1; i < plan->image.section_count; ++i) {
    const elf_section *section = &plan->image.sections[i];
    if (section->type != ELF_SHT_DYNSYM)
      continue;
    const uint8_t *symbols = plan->image.data + section->offset;
    for (uint64_t at = 0; at + ELF_SYMBOL_SIZE <= section->size; at += ELF_SYMBOL_SIZE) {
      if (elf_symbol_has_address(symbols + at))
        hold_at(plan, kdl_load_u64(symbols + at + 8));
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Code                                                                                         */

/* Only lea makes an address from a displacement; the bytes of any other instruction that look like
 * one count too. */
static void scan_x86_64(const elf_plan *plan, const uint8_t *code, uint64_t size,
                        uint64_t address) {
  enum { lea = 0x8d, rex_w = 0x48 };
  const elf_unit *last = &plan->units[plan->unit_count - 1];
  uint64_t low = plan->units[0].address, span = last->address + last->size - low;
  for (uint64_t i = 2; i + 5 <= size; ++i) {
    if (code[i - 1] != lea || (code[i] & 0xc7) != 5 || (code[i - 2] & 0xf8) != rex_w)
      continue;
    uint64_t to = address + i + 5 + (uint64_t)(int64_t)(int32_t)kdl_load_u32(code + i + 1);
    if (to - low < span)
      hold_at(plan, to);
  }
}

/* adrp gives the page of an address, adr the address. */
static void scan_aarch64(const elf_plan *plan, const uint8_t *code, uint64_t size,
                         uint64_t address) {
  for (uint64_t i = 0; i + 4 <= size; i += 4) {
    uint32_t word = kdl_load_u32(code + i);
    if ((word & 0x1f000000) != 0x10000000)
      continue;
    uint64_t bits = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
    uint64_t distance = (bits ^ 0x100000) - 0x100000;
    if (!(word >> 31)) {
      hold_at(plan, address + i + distance);
      continue;
    }
    uint64_t page = ((address + i) & ~(uint64_t)0xfff) + (distance << 12);
    elf_unit *unit = elf_plan_unit_before(plan, page + 0xfff);
    for (; unit && unit >= plan->units && unit->address >= page; --unit)
      hold_at(plan, unit->address);
    if (unit && unit >= plan->units && page < unit->address + unit->size)
      hold_at(plan, unit->address);
  }
}

static void see_code(const elf_plan *plan) {
  for (size_t i = 1; i < plan->image.section_count; ++i) {
    const elf_section *section = &plan->image.sections[i];
    if (!(section->flags & ELF_EXEC) || section->type != ELF_SHT_PROGBITS)
      continue;
    const uint8_t *code = plan->image.data + section->offset;
    if (plan->image.machine == ELF_X86_64)
      scan_x86_64(plan, code, section->size, section->address);
    else
      scan_aarch64(plan, code, section->size, section->address);
  }
}

/* ------------------------------------------------------------------------------------------ */

/* A container without a reference is reached from the one before it, which therefore stays. */
static void hold_arrays(const elf_plan *plan) {
  for (size_t i = 0; i < plan->unit_count; ++i) {
    elf_unit *unit = &plan->units[i];
    if (unit->is_referenced || unit->container.kind == THIN_OFFLOAD)
      continue;
    hold(unit, ELF_STAYS);
    if (i && plan->units[i - 1].section == unit->section)
      hold(&plan->units[i - 1], ELF_STAYS);
  }
}

kdl_status elf_plan_find_references(elf_plan *plan) {
  const elf_image *image = &plan->image;
  uint64_t value;
  seer s = {plan, elf_sycl_table(image), 0};
  kdl_status status = elf_sycl_find_records(plan);
  if (status == KDL_OK)
    status = elf_image_relocations(image, see_pointer, see_other, &s);
  if (status == KDL_OK && s.bad_place)
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: found a relocation of address 0x%" PRIx64 ", expected none of headers",
                      image->name, s.bad_place);
  if (status == KDL_OK)
    status = elf_offload_find_records(plan);
  if (status != KDL_OK)
    return status;
  see_described(plan, s.described);
  hold_arrays(plan);
  see_symbols(plan);
  bool is_known = image->machine == ELF_X86_64 || image->machine == ELF_AARCH64;
  bool may_move = is_known && image->type == ELF_SHARED && !plan->shape.sparse &&
                  !elf_image_dynamic(image, ELF_DT_REL, &value);
  if (may_move)
    see_code(plan);
  for (size_t i = 0; i < plan->unit_count && !may_move; ++i)
    hold(&plan->units[i], ELF_STAYS);
  elf_offload_settle(plan);
  return KDL_OK;
}
