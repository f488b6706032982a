/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `nvcc -rdc=true` makes: objects for nvlink, which a driver does not link. */
#include "image/elf_file.h"
#include "image/readers.h"

#include <string.h>

enum { type_relocatable = 1 };

/* What NVIDIA's driver defines itself; linked cubins leave these open too. */
static const char *const supplied[] = {"vprintf", "malloc", "free", "__assertfail"};

bool kdl_nvidia_supplies(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof supplied / sizeof *supplied; ++i) {
    if (length == strlen(supplied[i]) && memcmp(name, supplied[i], length) == 0)
      return true;
  }
  return false;
}

static kdl_status read_cubin(const uint8_t *data, size_t size, kdl_image_linkage *linkage) {
  kdl_elf elf;
  kdl_elf_symbols symbols;
  kdl_status status = kdl_elf_open(data, size, &elf);
  if (status != KDL_OK || elf.type != type_relocatable)
    return status;
  *linkage = KDL_LINKAGE_RELOCATABLE;
  status = kdl_elf_open_symbols(&elf, KDL_ELF_SECTION_SYMTAB, &symbols);
  for (uint64_t i = 1; status == KDL_OK && i < symbols.count; ++i) {
    kdl_elf_symbol symbol = kdl_elf_read_symbol(&elf, &symbols, i);
    if (symbol.is_defined || symbol.binding != KDL_ELF_BIND_GLOBAL)
      continue;
    const char *name;
    size_t length;
    status = kdl_elf_symbol_name(&elf, &symbols, &symbol, &name, &length);
    if (status == KDL_OK && !kdl_nvidia_supplies(name, length)) {
      *linkage = KDL_LINKAGE_UNRESOLVED;
      break;
    }
  }
  return status;
}

kdl_status kdl_image_read_linkage(kdl_image_kind kind, const void *data, size_t size,
                                  kdl_image_linkage *out_linkage) {
  *out_linkage = KDL_LINKAGE_WHOLE;
  if (kind == KDL_IMAGE_CUBIN)
    return read_cubin(data, size, out_linkage);
  if (kind == KDL_IMAGE_PTX && kdl_ptx_lacks_functions(data, size))
    *out_linkage = KDL_LINKAGE_UNRESOLVED;
  return KDL_OK;
}
