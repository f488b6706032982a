/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses that code and tables of distances lead to without a relocation. */
#ifndef KDL_TOOL_THIN_ELF_CODE_H
#define KDL_TOOL_THIN_ELF_CODE_H

#include "pack/thin/elf/elf_image.h"

/* From `start` up to, not including, `end`. */
typedef struct elf_span {
  uint64_t start;
  uint64_t end;
} elf_span;

/* What is asked about. */
typedef struct elf_reference_scan {
  const elf_span *spans; /* in order, apart from one another */
  size_t count;
  uint64_t reach; /* what leads to so many bytes before a span is seen too */
  /* Something leads to an address in `where`; where that is one byte, certainly. Or, where a file
   * is loaded where it was linked for, a number there is such an address. */
  void (*on_reference)(void *user, const elf_span *where, bool is_number);
  void *user;
} elf_reference_scan;

/* Whether the instructions of the file's machine are known. */
bool elf_code_is_known(const elf_image *image);

/* Sees what instructions, and distances in data, lead to. What may be a reference is seen
 * too. Only where instructions are known. */
void elf_code_find_references(const elf_image *image, const elf_reference_scan *scan);

/* x86_length.c: the length of the instruction at the start of the code; 0 for one that is cut off,
 * not defined or not known. *out_displacement is where its 32-bit distance from its end to an
 * operand lies in it, or 0. */
size_t x86_instruction_length(const uint8_t *code, size_t size, size_t *out_displacement);

#endif
