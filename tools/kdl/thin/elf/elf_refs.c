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
 * describes by its address and size.
 */
#include "base/bytes.h"
#include "thin/elf/elf_plan.h"

#include <string.h>

typedef struct {
  const elf_plan *plan;
  const elf_section *described; /* SYCL's table of images, or NULL */
} seer;

static void hold(elf_unit *unit, elf_hold how) {
  if (unit->hold < how)
    unit->hold = how;
}

/* Something other than a relative relocation of a pointer to its start points there. */
static void hold_at(const elf_plan *plan, uint64_t address) {
  elf_unit *unit = elf_plan_unit_before(plan, address);
  if (unit && address - unit->address < unit->size)
    hold(unit, ELF_STAYS);
}

/* ------------------------------------------------------------------------------------------ */
/* Relocations and symbols                                                                      */

static void freeze_place(const elf_plan *plan, uint64_t place) {
  elf_unit *unit = elf_plan_unit_before(plan, place + 7);
  if (unit && place < unit->address + unit->size)
    hold(unit, ELF_FROZEN);
}

/* What SYCL's table says of an address and the bytes from there holds. */
static void freeze_image(const elf_plan *plan, uint64_t address, uint64_t size) {
  elf_unit *unit = address + size > address ? elf_plan_unit_before(plan, address + size - 1) : NULL;
  for (; unit && unit >= plan->units && unit->address + unit->size > address; --unit)
    hold(unit, ELF_FROZEN);
}

static const elf_section *find_described(const elf_image *image) {
  for (size_t i = 1; i < image->section_count; ++i) {
    const elf_section *section = &image->sections[i];
    if (section->type != 0 && section->type != ELF_SHT_NOBITS &&
        strcmp(elf_image_section_name(image, section), ".tgtimg") == 0)
      return section;
  }
  return NULL;
}

/* Linkers leave addresses in place, or relocate them: see_pointer. */
static void see_described(const elf_plan *plan, const elf_section *table) {
  enum { entry = 16 };
  const uint8_t *entries = table ? plan->image.data + table->offset : NULL;
  for (uint64_t at = 0; table && at + entry <= table->size; at += entry)
    freeze_image(plan, kdl_load_u64(entries + at), kdl_load_u64(entries + at + 8));
}

static void see_pointer(void *user, const elf_pointer *pointer) {
  const seer *s = user;
  const elf_plan *plan = s->plan;
  freeze_place(plan, pointer->place);
  if (s->described && pointer->place - s->described->address < s->described->size) {
    const uint8_t *entry = elf_image_at(&plan->image, pointer->place, 16);
    freeze_image(plan, pointer->target, entry ? kdl_load_u64(entry + 8) : 1);
  }
  elf_unit *unit = elf_plan_unit_before(plan, pointer->target);
  if (unit && unit->container.kind == THIN_OFFLOAD)
    return; /* elf_offload.c knows */
  if (unit && unit->address == pointer->target)
    unit->is_referenced = true;
  else
    hold_at(plan, pointer->target);
}

static void see_other(void *user, uint64_t place) {
  freeze_place(((const seer *)user)->plan, place);
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
      hold(unit, ELF_STAYS);
    if (unit && unit >= plan->units && page < unit->address + unit->size)
      hold(unit, ELF_STAYS);
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
  seer s = {plan, find_described(image)};
  kdl_status status = elf_image_relocations(image, see_pointer, see_other, &s);
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
