/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/portable/lower.h"

#include "compiler/ir/portable/form.h"
#include "support/base/error.h"

/* KDL_HOST is known now. */
static void fold_is_host(LLVMModuleRef module, bool is_host) {
  LLVMValueRef function = LLVMGetNamedFunction(module, "kdl_p1_is_host");
  for (LLVMUseRef use; function && (use = LLVMGetFirstUse(function));) {
    LLVMValueRef call = LLVMGetUser(use);
    if (!LLVMIsACallInst(call) || LLVMGetCalledValue(call) != function)
      break;
    LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), is_host, false));
    LLVMInstructionEraseFromParent(call);
  }
}

static void set_convention(LLVMModuleRef module, unsigned convention) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMGetFunctionCallConv(f) == IR_SPIR_KERNEL)
      LLVMSetFunctionCallConv(f, convention);
  }
}

kdl_status ir_portable_lower(ir_linker *linker) {
  kdl_target_family family = linker->target.family;
  bool is_gpu =
      family == KDL_FAMILY_NVPTX || family == KDL_FAMILY_AMDGCN || family == KDL_FAMILY_SPIRV;
  KDL_TRY(ir_form_check(linker->module, linker->request->caller));
  fold_is_host(linker->module, !is_gpu);
  KDL_TRY(ir_target_set_layout(&linker->target, linker->module));
  if (family == KDL_FAMILY_NVPTX) {
    set_convention(linker->module, IR_PTX_KERNEL);
#ifdef IR_LIBDEVICE
    ir_nvidia_use_libdevice(linker->module);
#endif
  } else if (family == KDL_FAMILY_SPIRV)
    KDL_TRY(ir_lower_spirv(linker));
  else
    KDL_TRY(family == KDL_FAMILY_AMDGCN ? ir_lower_amd(linker) : ir_lower_cpu(linker));
  return ir_module_verify(linker->module, linker->request->caller,
                          "broken when it was lowered for the device");
}
