/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Digests of a cubin's kernels. The code is in .text.NAME; .nv.info.NAME has the parameters, other
 * sections of constants belong to it by sh_info.
 *
 * What does not matter is left out: the names and numbers of symbols, and the places of addresses
 * in constant bank 4, which depend on the other kernels of the image. From sm_70 on, an instruction
 * of 16 bytes that reads a constant has the bank in bits 54 to 58 and the offset in bits 38 to 53;
 * bits 9 to 11 show which instructions do (as nvdisasm 13.4 prints them).
 */
#include "lib/image/code_hash.h"
#include "lib/image/nvidia/cubin_attributes.h"
#include "lib/image/readers.h"

#include <stdlib.h>
#include <string.h>

enum {
  section_info = 0x70000000, /* SHT_CUDA_INFO */
  attribute_param = 0x17,
  attribute_wide_param = 0x45,
  first_sm = 70,
  newest_abi_with_low_sm = 7,
  bank_of_addresses = 4,
};

typedef struct {
  kdl_code_hash code;
  uint64_t params;
} kernel_digest;

typedef struct {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  uint32_t *number_of; /* by section: 1 + the number of its kernel, or 0 */
  kernel_digest *kernels;
  uint32_t count;
  bool has_wide_instructions;
} digest_reader;

static uint64_t mask_address(uint64_t word) {
  const uint64_t offset = (uint64_t)0xffff << 38;
  unsigned form = word >> 9 & 7;
  bool reads_constant = form == 3 || form == 5;
  return reads_constant && (word >> 54 & 0x1f) == bank_of_addresses ? word & ~offset : word;
}

static kdl_status hash_code(const digest_reader *reader, uint64_t number, kdl_code_hash *hash) {
  enum { instruction_size = 16 };
  kdl_elf_section text;
  KDL_TRY(kdl_elf_read_section(&reader->elf, number, &text));
  if (text.type != SHT_PROGBITS || !kdl_in_range(text.offset, text.size, reader->elf.size))
    return kdl_malformed_at(text.header, "code of a kernel",
                            "found %" PRIu64 " bytes at 0x%" PRIx64
                            ", expected them in the image of %zu",
                            text.size, text.offset, reader->elf.size);
  const uint8_t *code = reader->elf.data + text.offset;
  uint64_t at = 0;
  for (; reader->has_wide_instructions && text.size - at >= instruction_size;
       at += instruction_size)
    kdl_code_hash_add(hash, mask_address(kdl_load_u64(code + at)), kdl_load_u64(code + at + 8));
  kdl_code_hash_bytes(hash, code + at, (size_t)(text.size - at));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Other sections of a kernel                                                                   */

/* u32 index, u16 ordinal, u16 offset, u32 with the size: cubin.c has the forms. Linkers write them
 * in another order than compilers. */
static kdl_status hash_params(const digest_reader *reader, const kdl_elf_section *section,
                              uint64_t *hash) {
  kdl_cubin_attributes list = {.elf = &reader->elf, .section = *section, .name = ".nv.info"};
  kdl_cubin_attribute item;
  kdl_status status = KDL_OK;
  while (kdl_cubin_next_attribute(&list, &item, &status)) {
    bool is_wide = item.id == attribute_wide_param;
    if (item.form != KDL_CUBIN_FORM_SIZED || (item.id != attribute_param && !is_wide))
      continue;
    if (item.size < 12)
      return kdl_malformed_at(item.offset, "EIATTR_KPARAM_INFO",
                              "found %" PRIu64 " bytes, expected 12", item.size);
    uint32_t word = kdl_load_u32(item.value + 8);
    uint32_t size = is_wide ? word & 0xffff : word >> 18;
    uint32_t place = (uint32_t)kdl_load_u16(item.value + 4) << 16 | kdl_load_u16(item.value + 6);
    *hash += kdl_code_hash_param(KDL_NO_PARAMS_HASH, size, place);
  }
  return status;
}

static kdl_status hash_section(const digest_reader *reader, uint64_t index) {
  static const char constants[] = ".nv.constant";
  const size_t length = sizeof constants - 1;
  kdl_elf_section section;
  const char *name;
  size_t name_length;
  KDL_TRY(kdl_elf_read_section(&reader->elf, index, &section));
  uint32_t number = section.info < reader->elf.section_count ? reader->number_of[section.info] : 0;
  if (!number || (section.type != section_info && section.type != SHT_PROGBITS))
    return KDL_OK;
  KDL_TRY(kdl_elf_section_name(&reader->elf, &section, &name, &name_length));
  if (!kdl_in_range(section.offset, section.size, reader->elf.size))
    return kdl_malformed_at(section.header, "sh_offset",
                            "found %" PRIu64 " bytes at 0x%" PRIx64
                            ", expected them in the image of %zu",
                            section.size, section.offset, reader->elf.size);
  kernel_digest *kernel = &reader->kernels[number - 1];
  if (section.type == section_info)
    return hash_params(reader, &section, &kernel->params);
  /* Bank 0 has the parameters, whose values come with a launch. */
  if (strncmp(name, constants, length) == 0 && name[length] != '0')
    kdl_code_hash_bytes(&kernel->code, reader->elf.data + section.offset, (size_t)section.size);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

static bool is_kernel(const kdl_elf_symbol *symbol) {
  return symbol->type == STT_FUNC && symbol->other & KDL_CUBIN_SYMBOL_ENTRY && symbol->is_defined;
}

static kdl_status hash_kernels(digest_reader *reader) {
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&reader->elf, &reader->symbols, i);
    if (!is_kernel(&symbol) || symbol.section >= reader->elf.section_count ||
        reader->number_of[symbol.section])
      continue;
    kernel_digest *kernel = &reader->kernels[reader->count];
    reader->number_of[symbol.section] = ++reader->count;
    *kernel = (kernel_digest){kdl_code_hash_begin(), KDL_NO_PARAMS_HASH};
    KDL_TRY(hash_code(reader, symbol.section, &kernel->code));
  }
  for (uint64_t i = 1; reader->count && i < reader->elf.section_count; ++i)
    KDL_TRY(hash_section(reader, i));
  return KDL_OK;
}

static kdl_status visit_digests(const digest_reader *reader, kdl_visit_digest *visit, void *user) {
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&reader->elf, &reader->symbols, i);
    uint32_t number = is_kernel(&symbol) && symbol.section < reader->elf.section_count
                          ? reader->number_of[symbol.section]
                          : 0;
    const char *name;
    size_t length;
    if (!number)
      continue;
    KDL_TRY(kdl_elf_symbol_name(&reader->elf, &reader->symbols, &symbol, &name, &length));
    const kernel_digest *kernel = &reader->kernels[number - 1];
    kdl_kernel_digest digest = {.params = kernel->params};
    kdl_code_hash_end(&kernel->code, digest.code);
    if (visit(user, (kdl_string){name, length}, &digest))
      break;
  }
  return KDL_OK;
}

kdl_status kdl_cubin_read_digests(const uint8_t *data, size_t size, kdl_visit_digest *visit,
                                  void *user) {
  digest_reader reader = {.count = 0};
  KDL_TRY(kdl_elf_open(data, size, &reader.elf));
  KDL_TRY(kdl_elf_open_symbols(&reader.elf, SHT_SYMTAB, &reader.symbols));
  const kdl_elf *elf = &reader.elf;
  unsigned sm =
      elf->abi_version <= newest_abi_with_low_sm ? elf->flags & 0xff : elf->flags >> 8 & 0xff;
  reader.has_wide_instructions = sm >= first_sm;
  reader.number_of = calloc(elf->section_count + 1, sizeof *reader.number_of);
  reader.kernels = calloc(elf->section_count + 1, sizeof *reader.kernels);
  kdl_status status = reader.number_of && reader.kernels
                          ? hash_kernels(&reader)
                          : kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a cubin");
  if (status == KDL_OK)
    status = visit_digests(&reader, visit, user);
  free(reader.number_of);
  free(reader.kernels);
  return status;
}
