/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of elf_plan_check, and memory as the output's segments map it. */
#ifndef KDL_PACK_THIN_ELF_ELF_CHECK_H
#define KDL_PACK_THIN_ELF_ELF_CHECK_H

#include "pack/thin/elf/elf_plan.h"

typedef struct elf_exempt_range {
  uint64_t start, end; /* addresses that may differ; checked in other ways */
} elf_exempt_range;

typedef struct elf_checker {
  const elf_plan *plan;
  const thin_output *out;
  kdl_elf_segment *segments; /* parsed from the output */
  size_t count;
  kdl_elf_section *sections; /* parsed from the output */
  size_t section_count;
  elf_exempt_range *exempt_ranges; /* by address, not overlapping */
  size_t exempt_count;
} elf_checker;

/* KDL_UNSUPPORTED: the output is wrong. */
kdl_status elf_check_fail(const elf_checker *c, const char *what, uint64_t address);

/* The contiguous bytes at an address; NULL for zeros. False where nothing is mapped. */
typedef bool elf_check_view(const elf_checker *c, uint64_t address, const uint8_t **bytes,
                            uint64_t *size);
elf_check_view elf_check_view_old;
elf_check_view elf_check_view_new;

/* Either may be NULL, for zeros. */
bool elf_check_is_same(const uint8_t *left, const uint8_t *right, uint64_t size);

/* The segment that loads these bytes of the output, or NULL. */
const kdl_elf_segment *elf_check_loaded(const elf_checker *c, uint64_t address, uint64_t size);

/* elf_check_relocations.c: compares the relocations of both files one by one, each found through
 * its own tables. */
kdl_status elf_check_relocations(const elf_checker *c);

/* elf_check_sections.c: the section headers of the output must be correct, and match the
 * input's. */
kdl_status elf_check_sections(const elf_checker *c);

#endif
