/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the kernels of a cubin use. NVIDIA documents none of it; the numbers were compared with
 * those of cuobjdump -res-usage and nvdisasm (scripts/compare-resources.py).
 *
 * A kernel has a section .text.NAME. Others refer to it by sh_info: .nv.info.NAME has attributes,
 * .nv.shared.NAME, .nv.local.NAME and .nv.constant0.NAME have as many bytes as it uses. The section
 * .nv.info has attributes of all functions, by the number of their symbol.
 */
#include "lib/image/nvidia/cubin_attributes.h"
#include "lib/image/readers.h"

#include <stdlib.h>
#include <string.h>

enum {
  section_info = 0x70000000, /* SHT_CUDA_INFO */

  attribute_max_threads = 0x05,
  attribute_required_threads = 0x10,
  attribute_frame_size = 0x11,
  attribute_stack_size = 0x12, /* EIATTR_MIN_STACK_SIZE: with the frames of called functions */
  attribute_param = 0x17,
  attribute_param_bytes = 0x19,
  attribute_register_count = 0x2f,
  attribute_wide_param = 0x45,
  attribute_barriers = 0x4c,

  warp_size = 32,
};

/* Before EIATTR_REGCOUNT and EIATTR_NUM_BARRIERS, .text.NAME has both in its header. */
enum { registers_shift = 24, barriers_shift = 20, barriers_mask = 0x7f };

typedef struct {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  uint64_t section_count;
  uint32_t *number_of; /* by section: 1 + the number of its kernel, or 0 */
  kdl_kernel_resources *kernels;
} cubin_reader;

/* The kernel whose code is in the section, or NULL. */
static kdl_kernel_resources *kernel_of_section(const cubin_reader *reader, uint64_t section) {
  uint32_t number = section < reader->section_count ? reader->number_of[section] : 0;
  return number ? &reader->kernels[number - 1] : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Attributes                                                                                   */

static kdl_status check_words(const kdl_cubin_attribute *item, const char *name, uint64_t words) {
  if (item->size < words * 4)
    return kdl_malformed_at(item->offset, name, "found %" PRIu64 " bytes, expected %" PRIu64,
                            item->size, words * 4);
  return KDL_OK;
}

/* Attributes of .nv.info: u32 symbol, u32 value. */
static kdl_status read_function_attribute(const cubin_reader *reader,
                                          const kdl_cubin_attribute *item) {
  if (item->form != KDL_CUBIN_FORM_SIZED ||
      (item->id != attribute_frame_size && item->id != attribute_stack_size &&
       item->id != attribute_register_count))
    return KDL_OK;
  KDL_TRY(check_words(item, ".nv.info", 2));
  uint32_t symbol = kdl_load_u32(item->value);
  uint32_t value = kdl_load_u32(item->value + 4);
  if (symbol >= reader->symbols.count)
    return kdl_malformed_at(item->offset, ".nv.info",
                            "found symbol %" PRIu32 ", expected less than %" PRIu64, symbol,
                            reader->symbols.count);
  kdl_elf_symbol function = kdl_elf_read_symbol(&reader->elf, &reader->symbols, symbol);
  kdl_kernel_resources *kernel = kernel_of_section(reader, function.section);
  if (!kernel || !(function.other & KDL_CUBIN_SYMBOL_ENTRY))
    return KDL_OK;
  if (item->id == attribute_register_count)
    kernel->vector_registers = value;
  else if (value > kernel->stack)
    kernel->stack = value;
  return KDL_OK;
}

static void read_threads(const uint8_t *value, kdl_kernel_resources *kernel, bool is_required) {
  uint64_t product = 1;
  uint32_t block[3];
  for (size_t i = 0; i < 3; ++i) {
    block[i] = kdl_load_u32(value + 4 * i);
    product = product * block[i] > UINT32_MAX ? UINT32_MAX : product * block[i];
  }
  kernel->max_block = (uint32_t)product;
  if (is_required)
    memcpy(kernel->block, block, sizeof block);
}

static void read_param(const uint8_t *value, kdl_kernel_resources *kernel) {
  uint32_t ordinal = kdl_load_u16(value + 4);
  if (kernel->params <= ordinal)
    kernel->params = ordinal + 1;
}

/* Attributes of .nv.info.NAME. */
static kdl_status read_kernel_attribute(const kdl_cubin_attribute *item,
                                        kdl_kernel_resources *kernel) {
  if (item->form == KDL_CUBIN_FORM_SHORT && item->id == attribute_param_bytes)
    kernel->param_bytes = kdl_load_u16(item->value);
  if (item->form == KDL_CUBIN_FORM_BYTE && item->id == attribute_barriers)
    kernel->barriers = item->value[0];
  if (item->form != KDL_CUBIN_FORM_SIZED)
    return KDL_OK;
  switch (item->id) {
  case attribute_max_threads:
  case attribute_required_threads:
    KDL_TRY(check_words(item, ".nv.info", 3));
    read_threads(item->value, kernel, item->id == attribute_required_threads);
    return KDL_OK;
  case attribute_param:
  case attribute_wide_param:
    KDL_TRY(check_words(item, "EIATTR_KPARAM_INFO", 3));
    read_param(item->value, kernel);
    return KDL_OK;
  default:
    return KDL_OK;
  }
}

static kdl_status check_contents(const cubin_reader *reader, const kdl_elf_section *section) {
  if (!kdl_in_range(section->offset, section->size, reader->elf.size))
    return kdl_malformed_at(section->header, "sh_offset",
                            "found %" PRIu64 " bytes at 0x%" PRIx64
                            ", expected them in the image of %zu",
                            section->size, section->offset, reader->elf.size);
  return KDL_OK;
}

/* `kernel` is NULL for .nv.info. */
static kdl_status read_attributes(const cubin_reader *reader, const kdl_elf_section *section,
                                  kdl_kernel_resources *kernel) {
  kdl_cubin_attributes list = {.elf = &reader->elf, .section = *section, .name = ".nv.info"};
  kdl_cubin_attribute item;
  kdl_status status = check_contents(reader, section);
  while (status == KDL_OK && kdl_cubin_next_attribute(&list, &item, &status)) {
    kdl_status read =
        kernel ? read_kernel_attribute(&item, kernel) : read_function_attribute(reader, &item);
    if (read != KDL_OK)
      return read;
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Sections                                                                                     */

static bool has_prefix(const char *name, const char *prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

static kdl_status read_section(const cubin_reader *reader, const kdl_elf_section *section) {
  kdl_kernel_resources *kernel = kernel_of_section(reader, section->info);
  const char *name;
  size_t length;
  KDL_TRY(kdl_elf_section_name(&reader->elf, section, &name, &length));
  if (section->type == section_info && strcmp(name, ".nv.info") == 0)
    return read_attributes(reader, section, NULL);
  if (!kernel)
    return KDL_OK;
  if (section->type == section_info && has_prefix(name, ".nv.info."))
    return read_attributes(reader, section, kernel);
  if (has_prefix(name, ".nv.shared."))
    kernel->shared = kdl_resource_clamp(section->size);
  else if (has_prefix(name, ".nv.local."))
    kernel->local = kdl_resource_clamp(section->size);
  else if (has_prefix(name, ".nv.constant0."))
    kernel->constant = kdl_resource_clamp(section->size);
  return KDL_OK;
}

/* What the header of .text.NAME has; attributes override it. */
static kdl_status begin_kernel(cubin_reader *reader, uint32_t number, uint64_t section) {
  kdl_elf_section text;
  KDL_TRY(kdl_elf_read_section(&reader->elf, section, &text));
  reader->number_of[section] = number + 1;
  kdl_kernel_resources *kernel = &reader->kernels[number];
  *kernel = kdl_no_resources;
  kernel->vector_registers = text.info >> registers_shift;
  kernel->stack = kernel->local = kernel->shared = kernel->constant = 0;
  kernel->subgroup = warp_size;
  kernel->params = kernel->param_bytes = 0;
  kernel->code_bytes = kdl_resource_clamp(text.size);
  kernel->barriers = (uint32_t)(text.flags >> barriers_shift) & barriers_mask;
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The reader                                                                                   */

static bool is_kernel(const kdl_elf_symbol *symbol) {
  return symbol->type == STT_FUNC && symbol->other & KDL_CUBIN_SYMBOL_ENTRY && symbol->is_defined;
}

static kdl_status find_kernels(cubin_reader *reader, uint32_t *out_count) {
  uint32_t count = 0;
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&reader->elf, &reader->symbols, i);
    if (is_kernel(&symbol) && symbol.section < reader->section_count &&
        !reader->number_of[symbol.section])
      KDL_TRY(begin_kernel(reader, count++, symbol.section));
  }
  *out_count = count;
  return KDL_OK;
}

static kdl_status visit_kernels(const cubin_reader *reader, kdl_visit_resources *visit,
                                void *user) {
  for (uint64_t i = 1; i < reader->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&reader->elf, &reader->symbols, i);
    kdl_kernel_resources *kernel =
        is_kernel(&symbol) ? kernel_of_section(reader, symbol.section) : NULL;
    if (!kernel)
      continue;
    const char *name;
    size_t length;
    KDL_TRY(kdl_elf_symbol_name(&reader->elf, &reader->symbols, &symbol, &name, &length));
    if (visit(user, (kdl_string){name, length}, kernel))
      break;
  }
  return KDL_OK;
}

static kdl_status read_resources(cubin_reader *reader, kdl_visit_resources *visit, void *user) {
  uint32_t count;
  KDL_TRY(find_kernels(reader, &count));
  for (uint64_t i = 1; count && i < reader->section_count; ++i) {
    kdl_elf_section section;
    KDL_TRY(kdl_elf_read_section(&reader->elf, i, &section));
    KDL_TRY(read_section(reader, &section));
  }
  return visit_kernels(reader, visit, user);
}

kdl_status kdl_cubin_read_resources(const uint8_t *data, size_t size, kdl_visit_resources *visit,
                                    void *user) {
  cubin_reader reader = {.section_count = 0};
  KDL_TRY(kdl_elf_open(data, size, &reader.elf));
  KDL_TRY(kdl_elf_open_symbols(&reader.elf, SHT_SYMTAB, &reader.symbols));
  reader.section_count = reader.elf.section_count;
  reader.number_of = calloc(reader.section_count + 1, sizeof *reader.number_of);
  reader.kernels = calloc(reader.section_count + 1, sizeof *reader.kernels);
  kdl_status status = reader.number_of && reader.kernels
                          ? read_resources(&reader, visit, user)
                          : kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a cubin");
  free(reader.number_of);
  free(reader.kernels);
  return status;
}
