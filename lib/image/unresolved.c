/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * `nvcc -rdc=true` makes input for nvlink, which may call functions of other files that a driver
 * does not find. A cubin may be relocatable and still load: cuBLASLt's kernels for sm_50 to sm_80
 * are.
 */
#include "lib/image/readers.h"
#include "lib/inspect/kinds.h"
#include "support/base/elf_file.h"
#include "support/base/text.h"

#include <string.h>

/* Functions that NVIDIA's driver defines; linked cubins do not define them either. */
static const char *const driver_functions[] = {"vprintf", "malloc", "free", "__assertfail"};

bool kdl_nvidia_driver_defines(const char *name, size_t length) {
  return KDL_TEXT_AMONG(((kdl_string){name, length}), driver_functions);
}

/* Undefined symbols without a type refer to sections: .nv.constant0.NAME. */
static bool is_unresolved(const kdl_elf_symbol *symbol) {
  return !symbol->is_defined && symbol->binding == STB_GLOBAL && symbol->type != STT_NOTYPE;
}

kdl_status kdl_cubin_read_unresolved(const uint8_t *data, size_t size, bool *unresolved) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status != KDL_OK || elf.type != ET_REL)
    return status;
  status = kdl_elf_open_symbols(&elf, SHT_SYMTAB, &symbols);
  for (uint64_t i = 1; status == KDL_OK && i < symbols.count && !*unresolved; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    const char *name;
    size_t length;
    if (!is_unresolved(&symbol))
      continue;
    status = kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length);
    *unresolved = status == KDL_OK && !kdl_nvidia_driver_defines(name, length);
  }
  return status;
}

kdl_status kdl_image_read_unresolved(kdl_image_kind kind, const void *data, size_t size,
                                     bool *out_unresolved) {
  kdl_unresolved_reader *read = kdl_image_kind_get(kind)->readers->unresolved;
  *out_unresolved = false;
  return read ? read(data, size, out_unresolved) : KDL_OK;
}
