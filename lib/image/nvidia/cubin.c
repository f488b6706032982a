/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Cubins: NVIDIA's ELF, which is not documented. The reader was checked against cuobjdump 13.4, on
 * files from ptxas 12.8 and 13.0 and on those in CUDA 13's own libraries.
 *
 * The SM number is in e_flags: in the low byte up to ABI version 7, in the second byte from 8 on.
 * The suffix `a` is a flag in e_flags from sm_90 on (the bit has another meaning before: NVIDIA's
 * libcublas has it in code for sm_50 and sm_60). CUDA 13 moved it into the section .nv.compat,
 * whose attribute 9 (EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET) cuobjdump uses. The suffix `f` is only
 * in the note with the options of ptxas. (Attribute 2, the ISA class, does not help: plain sm_120
 * code has the family's class too.)
 */
#include "lib/image/nvidia/cubin_attributes.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"
#include "support/base/elf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  newest_abi_with_low_sm = 7,
  newest_abi = 8,
  first_accelerated_sm = 90,
  flag_accelerator_v7 = 0x800,
  flag_accelerator_v8 = 0x8,
  attribute_accelerator = 9,
  attribute_param = 0x17,      /* EIATTR_KPARAM_INFO */
  attribute_wide_param = 0x45, /* EIATTR_KPARAM_INFO_V2, for larger arguments */

  note_tool_info = 2000,
  tool_info_version = 2,
  tool_info_header = 24, /* version, then the offsets of five strings after it */
};

/* ------------------------------------------------------------------------------------------ */
/* Target                                                                                       */

/* Whether .nv.compat marks the code as specific to this architecture (suffix a). */
static kdl_status read_compat(const kdl_elf *elf, bool *is_accelerated) {
  kdl_cubin_attributes list = {.elf = elf, .name = ".nv.compat"};
  bool found;
  kdl_status status = kdl_elf_find_section(elf, list.name, &list.section, &found);
  if (status != KDL_OK || !found)
    return status;
  kdl_cubin_attribute item;
  while (kdl_cubin_next_attribute(&list, &item, &status)) {
    if (item.form == KDL_CUBIN_FORM_BYTE && item.id == attribute_accelerator && (item.value[0] & 1))
      *is_accelerated = true;
  }
  return status;
}

/* The options in the note of the tool that made the code are the last of its strings. */
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

static kdl_status cubin_read_target(const uint8_t *data, size_t size, kdl_image_target *target) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  snprintf(target->triple, sizeof target->triple, "%s",
           elf.is_64 ? "nvptx64-nvidia-cuda" : "nvptx-nvidia-cuda");
  target->offload_kind = KDL_OFFLOAD_CUDA;
  if (elf.abi_version > newest_abi)
    return KDL_OK;
  bool sm_is_low = elf.abi_version <= newest_abi_with_low_sm;
  unsigned sm = sm_is_low ? elf.flags & 0xff : elf.flags >> 8 & 0xff;
  if (sm == 0)
    return kdl_malformed_at(elf.is_64 ? 48 : 36, "e_flags",
                            "found 0x%" PRIx32 ", expected an SM number in bits %s", elf.flags,
                            sm_is_low ? "0 to 7" : "8 to 15");
  bool is_accelerated = sm >= first_accelerated_sm &&
                        elf.flags & (sm_is_low ? flag_accelerator_v7 : flag_accelerator_v8);
  bool is_family = false;
  KDL_TRY(read_compat(&elf, &is_accelerated));
  KDL_TRY(read_tool_info(&elf, sm, &is_family));
  snprintf(target->arch, sizeof target->arch, "sm_%u%s", sm,
           is_accelerated ? "a"
           : is_family    ? "f"
                          : "");
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels and their parameters                                                                 */

static kdl_status cubin_read_kernels(const uint8_t *data, size_t size, kdl_visit_name *visit,
                                     void *user) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  KDL_TRY(kdl_elf_open_symbols(&elf, SHT_SYMTAB, &symbols));
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    if (symbol.type != STT_FUNC || !(symbol.other & KDL_CUBIN_SYMBOL_ENTRY) || !symbol.is_defined)
      continue;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length));
    if (visit(user, name, length))
      break;
  }
  return KDL_OK;
}

typedef struct {
  kdl_image_param items[KDL_IMAGE_PARAM_LIMIT];
  bool is_known[KDL_IMAGE_PARAM_LIMIT]; /* of those below `count` */
  uint32_t count;
} param_list;

/* u32 index, u16 ordinal, u16 offset; then in one word the logarithm of the pointee's alignment (8
 * bits), its address space (4), the bank of the argument (6) and its size (14), or in the wide form
 * the size (16), alignment (8) and address space (8). Without `.ptr` in the PTX the address space
 * is 0. */
static kdl_status read_cubin_param(const kdl_cubin_attribute *item, param_list *params) {
  if (item->size != 12)
    return kdl_malformed_at(item->offset, "EIATTR_KPARAM_INFO",
                            "found %" PRIu64 " bytes, expected 12", item->size);
  uint16_t ordinal = kdl_load_u16(item->value + 4);
  uint32_t word = kdl_load_u32(item->value + 8);
  bool is_wide = item->id == attribute_wide_param;
  bool is_pointer = is_wide ? word >> 24 : word >> 8 & 0xf;
  if (ordinal >= KDL_IMAGE_PARAM_LIMIT)
    return kdl_too_many_params();
  for (; params->count <= ordinal; ++params->count)
    params->is_known[params->count] = false;
  params->items[ordinal] = (kdl_image_param){
      .kind = is_pointer ? KDL_IMAGE_PARAM_POINTER : KDL_IMAGE_PARAM_BYTES,
      .size = is_wide ? word & 0xffff : word >> 18,
      .offset = kdl_load_u16(item->value + 6),
  };
  params->is_known[ordinal] = true;
  return KDL_OK;
}

/* The section has the last parameter first. */
static kdl_status read_cubin_params(kdl_cubin_attributes *list, param_list *params) {
  kdl_status status = KDL_OK;
  kdl_cubin_attribute item;
  while (status == KDL_OK && kdl_cubin_next_attribute(list, &item, &status)) {
    if (item.form == KDL_CUBIN_FORM_SIZED &&
        (item.id == attribute_param || item.id == attribute_wide_param))
      status = read_cubin_param(&item, params);
  }
  for (uint32_t i = 0; i < params->count && status == KDL_OK; ++i) {
    if (!params->is_known[i])
      status = kdl_malformed_at(list->section.offset, "EIATTR_KPARAM_INFO",
                                "found parameter %" PRIu32 " and none of number %" PRIu32
                                ", expected all of them",
                                params->count - 1, i);
  }
  return status;
}

static kdl_status cubin_read_params(const uint8_t *data, size_t size, kdl_string kernel,
                                    kdl_visit_param *visit, void *user) {
  kdl_elf elf;
  kdl_cubin_attributes list = {.elf = &elf, .name = ".nv.info"};
  bool found = false;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status == KDL_OK)
    status = kdl_elf_find_section_of(&elf, ".nv.info.", kernel, &list.section, &found);
  if (status == KDL_OK && !found)
    return kdl_no_such_kernel(kernel);
  param_list params;
  params.count = 0;
  if (status == KDL_OK)
    status = read_cubin_params(&list, &params);
  for (uint32_t i = 0; i < params.count && status == KDL_OK; ++i) {
    if (visit(user, &params.items[i]))
      break;
  }
  return status;
}

const kdl_image_readers kdl_cubin_readers = {
    .target = cubin_read_target,
    .kernels = cubin_read_kernels,
    .params = cubin_read_params,
    .resources = kdl_cubin_read_resources,
    .effects = kdl_cubin_read_effects,
    .digests = kdl_cubin_read_digests,
    .unresolved = kdl_cubin_read_unresolved,
};
