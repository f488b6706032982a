/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib/image/amd/amdgpu_functions.h"

#include "support/base/error.h"

#include <elf.h>

kdl_status kdl_amdgpu_functions_open(const kdl_elf *elf, kdl_amdgpu_functions *functions) {
  *functions = (kdl_amdgpu_functions){.elf = elf};
  KDL_TRY(kdl_elf_open_symbols(elf, SHT_SYMTAB, &functions->symbols));
  if (functions->symbols.count == 0)
    KDL_TRY(kdl_elf_open_symbols(elf, SHT_DYNSYM, &functions->symbols));
  for (uint64_t i = 1; i < functions->symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(elf, &functions->symbols, i);
    const char *name;
    size_t length;
    if (symbol.type != STT_FUNC || !symbol.is_defined)
      continue;
    KDL_TRY(kdl_elf_symbol_name(elf, &functions->symbols, &symbol, &name, &length));
    if (!kdl_name_table_add(&functions->names, (kdl_string){name, length}, i))
      return kdl_fail(KDL_NO_MEMORY, "out of memory for the kernels of a code object");
  }
  kdl_name_table_sort(&functions->names);
  return KDL_OK;
}

void kdl_amdgpu_functions_close(kdl_amdgpu_functions *functions) {
  kdl_name_table_free(&functions->names);
}

const uint8_t *kdl_amdgpu_function_code(const kdl_amdgpu_functions *functions, kdl_string name,
                                        uint64_t *out_size) {
  uint64_t number;
  if (!kdl_name_table_find(&functions->names, name, &number))
    return NULL;
  kdl_elf_symbol symbol = kdl_elf_read_symbol(functions->elf, &functions->symbols, number);
  *out_size = symbol.size;
  return symbol.size ? kdl_elf_at_address(functions->elf, symbol.address, symbol.size) : NULL;
}
