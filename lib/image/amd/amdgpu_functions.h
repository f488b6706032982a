/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The code of the functions of an AMD code object, by name. */
#ifndef KDL_LIB_IMAGE_AMD_AMDGPU_FUNCTIONS_H
#define KDL_LIB_IMAGE_AMD_AMDGPU_FUNCTIONS_H

#include "lib/image/name_table.h"
#include "support/base/elf_file.h"

typedef struct kdl_amdgpu_functions {
  const kdl_elf *elf;
  kdl_elf_symbols symbols;
  kdl_name_table names; /* numbers of symbols by name */
} kdl_amdgpu_functions;

/* `functions` must be closed also where this fails. */
kdl_status kdl_amdgpu_functions_open(const kdl_elf *elf, kdl_amdgpu_functions *functions);
void kdl_amdgpu_functions_close(kdl_amdgpu_functions *functions);

/* NULL: the object has no code of that name. */
const uint8_t *kdl_amdgpu_function_code(const kdl_amdgpu_functions *functions, kdl_string name,
                                        uint64_t *out_size);

#endif
