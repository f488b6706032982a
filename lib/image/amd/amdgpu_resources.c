/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the kernels of an AMD code object use: from its metadata, without metadata from the kernel's
 * descriptor, and the size of its code from its symbol (LLVM's "User Guide for AMDGPU Backend",
 * "Code Object V3 Metadata" and "Kernel Descriptor").
 */
#include "lib/image/amd/amdgpu_metadata.h"
#include "lib/image/name_table.h"
#include "lib/image/readers.h"
#include "support/base/bytes.h"

#include <string.h>

enum {
  descriptor_size = 64,
  descriptor_shared = 0,
  descriptor_private = 4,
  descriptor_properties = 56,
  property_wave32 = 1 << 10,
};

typedef struct {
  const kdl_elf *elf;
  kdl_name_table code;        /* bytes of functions by name */
  kdl_name_table descriptors; /* addresses by kernel */
  kdl_visit_resources *visit;
  void *user;
} amdgpu_reader;

static kdl_status add_symbols(const kdl_elf *elf, uint32_t type, amdgpu_reader *reader) {
  static const char suffix[] = ".kd";
  const size_t suffix_length = sizeof suffix - 1;
  kdl_elf_symbols symbols;
  KDL_TRY(kdl_elf_open_symbols(elf, type, &symbols));
  for (uint64_t i = 1; i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &symbols, i);
    const char *name;
    size_t length;
    if (!symbol.is_defined || (symbol.type != STT_FUNC && symbol.type != STT_OBJECT))
      continue;
    KDL_TRY(kdl_elf_symbol_name(elf, &symbols, &symbol, &name, &length));
    bool is_code = symbol.type == STT_FUNC;
    if (!is_code && (length <= suffix_length ||
                     memcmp(name + length - suffix_length, suffix, suffix_length) != 0))
      continue;
    kdl_string kernel = {name, is_code ? length : length - suffix_length};
    if (!kdl_name_table_add(is_code ? &reader->code : &reader->descriptors, kernel,
                            is_code ? symbol.size : symbol.address))
      return kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a code object");
  }
  return KDL_OK;
}

static int visit_resources(const amdgpu_reader *reader, kdl_string name,
                           kdl_kernel_resources *uses) {
  uint64_t code_bytes;
  if (kdl_name_table_find(&reader->code, name, &code_bytes))
    uses->code_bytes = kdl_resource_clamp(code_bytes);
  return reader->visit(reader->user, name, uses);
}

/* ------------------------------------------------------------------------------------------ */
/* From the metadata                                                                            */

static int add_param(void *user, const kdl_image_param *param) {
  kdl_kernel_resources *uses = user;
  uint64_t end = (uint64_t)param->offset + param->size;
  ++uses->params;
  if (end > uses->param_bytes)
    uses->param_bytes = kdl_resource_clamp(end);
  return 0;
}

static kdl_status visit_metadata(kdl_msgpack reader, void *user, bool *out_stop) {
  kdl_kernel_resources uses = kdl_no_resources;
  const struct {
    const char *key;
    uint32_t *value;
  } rows[] = {
      {".vgpr_count", &uses.vector_registers},      {".sgpr_count", &uses.scalar_registers},
      {".agpr_count", &uses.accumulator_registers}, {".vgpr_spill_count", &uses.vector_spills},
      {".sgpr_spill_count", &uses.scalar_spills},   {".private_segment_fixed_size", &uses.stack},
      {".group_segment_fixed_size", &uses.shared},  {".max_flat_workgroup_size", &uses.max_block},
      {".wavefront_size", &uses.subgroup},
  };
  kdl_msgpack_item name;
  KDL_TRY(kdl_amdgpu_read_name(reader, &name));
  if (!name.text)
    return KDL_OK;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    KDL_TRY(kdl_amdgpu_read_numbers(reader, rows[i].key, rows[i].value, 1));
  KDL_TRY(kdl_amdgpu_read_numbers(reader, ".reqd_workgroup_size", uses.block, 3));
  bool has_args;
  kdl_msgpack args;
  KDL_TRY(kdl_amdgpu_find_value(reader, ".args", &args, &has_args));
  uses.params = uses.param_bytes = 0;
  if (has_args)
    KDL_TRY(kdl_amdgpu_visit_args(args, add_param, &uses));
  *out_stop = visit_resources(user, (kdl_string){name.text, (size_t)name.count}, &uses);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* From the descriptor                                                                          */

static int visit_descriptor(void *user, const char *name, size_t length) {
  const amdgpu_reader *reader = user;
  kdl_string kernel = {name, length};
  kdl_kernel_resources uses = kdl_no_resources;
  uint64_t address;
  const uint8_t *raw = kdl_name_table_find(&reader->descriptors, kernel, &address)
                           ? kdl_elf_at_address(reader->elf, address, descriptor_size)
                           : NULL;
  if (raw) {
    uses.shared = kdl_load_u32(raw + descriptor_shared);
    uses.stack = kdl_load_u32(raw + descriptor_private);
    uses.subgroup = kdl_load_u16(raw + descriptor_properties) & property_wave32 ? 32 : 64;
  }
  return visit_resources(reader, kernel, &uses);
}

kdl_status kdl_amdgpu_read_resources(const uint8_t *data, size_t size, kdl_visit_resources *visit,
                                     void *user) {
  kdl_elf elf;
  KDL_TRY(kdl_elf_open(data, size, &elf));
  amdgpu_reader reader = {.elf = &elf, .visit = visit, .user = user};
  bool found = false;
  kdl_status status = add_symbols(&elf, SHT_DYNSYM, &reader);
  if (status == KDL_OK)
    status = add_symbols(&elf, SHT_SYMTAB, &reader);
  kdl_name_table_sort(&reader.code);
  kdl_name_table_sort(&reader.descriptors);
  if (status == KDL_OK)
    status = kdl_amdgpu_visit_metadata(&elf, visit_metadata, &reader, &found);
  if (status == KDL_OK && !found)
    status = kdl_amdgpu_visit_symbols(&elf, visit_descriptor, &reader);
  kdl_name_table_free(&reader.code);
  kdl_name_table_free(&reader.descriptors);
  return status;
}
