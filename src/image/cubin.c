/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cubins: NVIDIA's ELF. Nothing of it is documented; what is read here was checked against
 * cuobjdump 13.4, on files from ptxas 12.8 and 13.0 and on those in CUDA 13's own libraries.
 *
 * The SM number is in e_flags: in the low byte up to ABI version 7, in the second byte from 8 on.
 * The suffix `a` is a flag beside it, until CUDA 13 moved it into the section .nv.compat, whose
 * attribute 9 (EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET) is what cuobjdump goes by. The suffix `f` is
 * in neither, but in the note that keeps the options ptxas was called with. (Attribute 2, the ISA
 * class, is no help: plain sm_120 code has the family's class too.)
 */
#include "base/bytes.h"
#include "image/elf_file.h"
#include "image/readers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  newest_abi_with_low_sm = 7,
  newest_abi = 8,
  flag_accelerator_v7 = 0x800,
  flag_accelerator_v8 = 0x8,
  symbol_is_entry = 0x10, /* STO_CUDA_ENTRY, in st_other */

  attribute_accelerator = 9,
  form_byte = 2,  /* form, attribute, value, padding */
  form_sized = 4, /* form, attribute, u16 size, bytes */

  note_tool_info = 2000,
  tool_info_version = 2,
  tool_info_header = 24, /* version, then where five strings lie in what follows */
};

/* Whether .nv.compat says that the code is for this architecture alone. */
static kdl_status read_compat(const kdl_elf *elf, bool *is_accelerated) {
  kdl_elf_section section;
  bool found;
  kdl_status status = kdl_elf_find_section(elf, ".nv.compat", &section, &found);
  if (status != KDL_OK || !found)
    return status;
  const uint8_t *attributes = elf->data + section.offset;
  for (uint64_t at = 0; at < section.size;) {
    if (section.size - at < 4)
      return kdl_image_malformed(section.offset + at, ".nv.compat",
                                 "found %" PRIu64 " bytes, expected an attribute of 4",
                                 section.size - at);
    const uint8_t *attribute = attributes + at;
    uint64_t size = attribute[0] == form_sized ? kdl_load_u16(attribute + 2) : 0;
    at += 4;
    if (size > section.size - at)
      return kdl_image_malformed(section.offset + at - 2, ".nv.compat",
                                 "found an attribute of %" PRIu64
                                 " bytes, expected at most %" PRIu64,
                                 size, section.size - at);
    at += size;
    if (attribute[0] == form_byte && attribute[1] == attribute_accelerator && (attribute[2] & 1))
      *is_accelerated = true;
  }
  return KDL_OK;
}

/* The options in a note of the tool that made the code: the last of its strings. */
static bool note_has_option(const kdl_elf_note *note, const char *option) {
  if (!kdl_elf_note_is(note, "NVIDIA Corp", note_tool_info) || note->size < tool_info_header ||
      kdl_load_u32(note->data) != tool_info_version)
    return false;
  uint32_t at = kdl_load_u32(note->data + tool_info_header - 4);
  size_t size = note->size - tool_info_header;
  return at < size && memmem(note->data + tool_info_header + at, size - at, option, strlen(option));
}

static kdl_status read_tool_info(const kdl_elf *elf, unsigned sm, bool *is_family) {
  char option[24];
  snprintf(option, sizeof option, "-arch sm_%uf ", sm);
  kdl_elf_notes notes = {.elf = elf};
  kdl_elf_note note;
  kdl_status status;
  while ((status = kdl_elf_next_note(&notes, &note)) == KDL_OK && note.owner)
    *is_family = *is_family || note_has_option(&note, option);
  return status;
}

kdl_status kdl_cubin_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_elf elf;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status != KDL_OK)
    return status;
  snprintf(target->triple, sizeof target->triple, "%s",
           elf.is_64 ? "nvptx64-nvidia-cuda" : "nvptx-nvidia-cuda");
  target->offload_kind = KDL_OFFLOAD_CUDA;
  if (elf.abi_version > newest_abi)
    return KDL_OK;
  bool sm_is_low = elf.abi_version <= newest_abi_with_low_sm;
  unsigned sm = sm_is_low ? elf.flags & 0xff : elf.flags >> 8 & 0xff;
  if (sm == 0)
    return kdl_image_malformed(elf.is_64 ? 48 : 36, "e_flags",
                               "found 0x%" PRIx32 ", expected an SM number in bits %s", elf.flags,
                               sm_is_low ? "0 to 7" : "8 to 15");
  bool is_accelerated = elf.flags & (sm_is_low ? flag_accelerator_v7 : flag_accelerator_v8);
  bool is_family = false;
  status = read_compat(&elf, &is_accelerated);
  if (status == KDL_OK)
    status = read_tool_info(&elf, sm, &is_family);
  if (status == KDL_OK)
    snprintf(target->arch, sizeof target->arch, "sm_%u%s", sm,
             is_accelerated ? "a"
             : is_family    ? "f"
                            : "");
  return status;
}

kdl_status kdl_cubin_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                  void *user) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status == KDL_OK)
    status = kdl_elf_open_symbols(&elf, KDL_ELF_SECTION_SYMTAB, &symbols);
  for (uint64_t i = 1; status == KDL_OK && i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    if (symbol.type != KDL_ELF_SYMBOL_FUNC || !(symbol.other & symbol_is_entry) ||
        !symbol.is_defined)
      continue;
    const char *name;
    size_t length;
    status = kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length);
    if (status == KDL_OK && visit(user, name, length))
      break;
  }
  return status;
}
