/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Code generation adds calls that the module does not show: conversions of half precision and
 * bfloat16, which C libraries do not have. They are linked after optimising, in sections of their
 * own, so that the linker drops those that are not called.
 */
#include "compiler/ir/portable/lower.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"

#include <llvm-c/Linker.h>

#include <stdio.h>

static bool is_narrow(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMVectorTypeKind || kind == LLVMScalableVectorTypeKind)
    kind = LLVMGetTypeKind(LLVMGetElementType(type));
  return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
}

static bool has_narrow_values(LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
        if (is_narrow(LLVMTypeOf(i)) ||
            (LLVMGetNumOperands(i) > 0 && is_narrow(LLVMTypeOf(LLVMGetOperand(i, 0)))))
          return true;
      }
    }
  }
  return false;
}

static kdl_status read_conversions(ir_linker *linker, LLVMModuleRef *out_module) {
  ir_choice choice;
  const void *data;
  size_t size;
  const ir_candidate *chosen =
      ir_choose_ukernel(&linker->libraries, KDL_TEXT("__truncsfhf2"), linker->context, &choice);
  *out_module = NULL;
  if (!chosen)
    return KDL_OK;
  KDL_TRY(kdl_library_bytes(chosen->library->lib, chosen->image, KDL_BYTES_VERIFIED, &data, &size));
  return ir_module_read(linker->context, data, size, chosen->library->name, out_module);
}

kdl_status ir_portable_add_conversions(ir_linker *linker) {
  kdl_target_family family = linker->target.family;
  LLVMModuleRef module;
  if (family == KDL_FAMILY_NVPTX || family == KDL_FAMILY_AMDGCN || family == KDL_FAMILY_SPIRV ||
      !has_narrow_values(linker->module))
    return KDL_OK;
  KDL_TRY(read_conversions(linker, &module));
  if (!module)
    return KDL_OK;
  ir_target_apply(&linker->target, module);
  kdl_status status =
      ir_module_run_passes(module, linker->target.machine, "default<O2>", linker->request->caller);
  if (status != KDL_OK) {
    LLVMDisposeModule(module);
    return status;
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    char section[128];
    snprintf(section, sizeof section, ".text.%.100s", ir_value_name(f).data);
    if (!LLVMIsDeclaration(f))
      LLVMSetSection(f, section);
  }
  bool failed = LLVMLinkModules2(linker->module, module); /* consumes the module */
  KDL_TRY(ir_context_check(linker->context, linker->request->caller));
  return failed ? kdl_fail(KDL_BAD_FILE, "%s: LLVM cannot link the conversions of half precision",
                           linker->request->caller)
                : KDL_OK;
}
