/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds addresses that code and data refer to without a relocation. */
#ifndef KDL_PACK_THIN_ELF_ELF_CODE_H
#define KDL_PACK_THIN_ELF_ELF_CODE_H

#include "pack/thin/elf/elf_image.h"

/* [start, end) */
typedef struct elf_span {
  uint64_t start;
  uint64_t end;
} elf_span;

/* The addresses of interest, and the callback. */
typedef struct elf_reference_scan {
  const elf_span *spans; /* sorted, not overlapping */
  size_t count;
  uint64_t reach; /* references to so many bytes before a span count too */
  /* Something refers to an address in `where`; if `where` is one byte, that is certain. With
   * `is_number`: in a file that is loaded at its link address, a number equals such an address. */
  void (*on_reference)(void *user, const elf_span *where, bool is_number);
  void *user;
} elf_reference_scan;

/* Whether the instructions of the file's machine can be decoded. */
bool elf_code_is_known(const elf_image *image);

/* Finds references in instructions, and distances in data, including possible ones. Only for
 * machines that can be decoded. */
void elf_code_find_references(const elf_image *image, const elf_reference_scan *scan);

/* x86_length.c: the length of the instruction at the start of the code; 0 where it is truncated,
 * undefined or unknown. *out_displacement is the offset of its RIP-relative distance, or 0. */
size_t x86_instruction_length(const uint8_t *code, size_t size, size_t *out_displacement);

#endif
