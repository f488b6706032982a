/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/linker.h"
#include "lib/inspect/host_objects.h"
#include "lib/inspect/images.h"

static const char *const nvidia[] = {
#define IR_RUNTIME_NVIDIA(name) name,
#include "compiler/ir/linker/runtime.def"
};

ir_runtime ir_runtime_of(kdl_target_family family, kdl_string name) {
  if (family == KDL_FAMILY_NVPTX)
    return KDL_TEXT_AMONG(name, nvidia) ? IR_RUNTIME_PROVIDED : IR_RUNTIME_NONE;
  if (family == KDL_FAMILY_SPIRV) /* instructions, under mangled names */
    return kdl_text_starts(name, "_Z") && kdl_text_contains(name, "__spirv_") ? IR_RUNTIME_PROVIDED
                                                                              : IR_RUNTIME_NONE;
  if (family != KDL_FAMILY_X86_64 && family != KDL_FAMILY_AARCH64 && family != KDL_FAMILY_RISCV)
    return IR_RUNTIME_NONE;
  switch (kdl_host_import_of(name)) {
  case KDL_HOST_IMPORT_LIBC:
    return IR_RUNTIME_PROVIDED;
  case KDL_HOST_IMPORT_LIBM:
    return IR_RUNTIME_LIBM;
  case KDL_HOST_IMPORT_NONE:
    break;
  }
  return IR_RUNTIME_NONE;
}
