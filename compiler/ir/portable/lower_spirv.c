/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For drivers that take SPIR-V: the form is nearly Clang's for it. Plain pointers point into a
 * function's own memory there; a cast of another pointer to one is refused, as `kdl cc` refuses
 * plain pointers for spirv64. As in `kdl cc`, dynamic group memory is a parameter of the kernel,
 * bfloat16 is computed in float, and some addresses are written for LLVM's backend to read them
 * right.
 */
#include "compiler/ir/portable/form.h"
#include "compiler/ir/portable/lower.h"
#include "compiler/text/ir_text.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <string.h>

enum { SPIR_FUNC = 75 };

static kdl_status fail_lack(const ir_linker *linker, LLVMValueRef function, const char *problem) {
  return kdl_fail(KDL_UNSUPPORTED, "%s: '%.128s' %s, which SPIR-V for %s lacks",
                  linker->request->caller, ir_value_name(function).data, problem,
                  linker->request->device_label);
}

/* ------------------------------------------------------------------------------------------ */
/* Text                                                                                         */

/* Replaces the module by what `edit` makes of its text. */
static kdl_status edit_module(ir_linker *linker, kdl_string (*edit)(kdl_arena *, kdl_string)) {
  LLVMModuleRef made = NULL;
  char *text = cli_check_alloc(LLVMPrintModuleToString(linker->module));
  kdl_string edited = edit(linker->request->arena, kdl_text_of(text));
  kdl_status status = ir_module_read_text(linker->context, edited.data, edited.length,
                                          linker->request->caller, &made);
  LLVMDisposeMessage(text);
  if (status != KDL_OK)
    return status;
  LLVMDisposeModule(linker->module);
  linker->module = made;
  return KDL_OK;
}

static kdl_string edit_bf16(kdl_arena *arena, kdl_string ir) {
  return ir_text_has_bf16(ir) ? ir_text_lower_bf16(arena, ir, IR_BF16_INTEGERS) : ir;
}

static kdl_string edit_addresses(kdl_arena *arena, kdl_string ir) {
  return ir_text_may_have_atomic_addresses(ir) ? ir_text_lower_atomic_addresses(arena, ir) : ir;
}

kdl_status ir_spirv_finish(ir_linker *linker) {
  return edit_module(linker, edit_addresses);
}

/* ------------------------------------------------------------------------------------------ */
/* Dynamic group memory                                                                         */

/* The same kernel with a pointer to group memory as its last parameter, which is returned. */
static LLVMValueRef add_parameter(LLVMModuleRef module, LLVMValueRef old, kdl_arena *arena) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  unsigned count = LLVMCountParams(old);
  LLVMTypeRef *types = xarena_alloc(arena, (count + 1) * sizeof *types);
  char name[512];
  LLVMGetParamTypes(LLVMGlobalGetValueType(old), types);
  types[count] = LLVMPointerTypeInContext(context, IR_SPACE_GROUP);
  snprintf(name, sizeof name, "%s", ir_value_name(old).data);
  LLVMSetValueName2(old, "", 0);
  LLVMValueRef made = LLVMAddFunction(
      module, name, LLVMFunctionType(LLVMVoidTypeInContext(context), types, count + 1, false));
  LLVMSetLinkage(made, LLVMGetLinkage(old));
  LLVMSetVisibility(made, LLVMGetVisibility(old));
  LLVMSetFunctionCallConv(made, LLVMGetFunctionCallConv(old));
  ir_copy_attributes(old, made, IR_FUNCTION_ATTRIBUTES);
  for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(old));) {
    LLVMRemoveBasicBlockFromParent(b);
    LLVMAppendExistingBasicBlock(made, b);
  }
  for (unsigned i = 0; i < count; ++i) {
    ir_copy_attributes(old, made, i + 1);
    LLVMReplaceAllUsesWith(LLVMGetParam(old, i), LLVMGetParam(made, i));
  }
  LLVMDeleteFunction(old);
  return LLVMGetParam(made, count);
}

/* `kdl cc` has checked that only kernels use it, and by its name: their first operand of it. */
static kdl_status pass_dynamic_memory(ir_linker *linker, LLVMValueRef dynamic) {
  for (LLVMUseRef use; (use = LLVMGetFirstUse(dynamic));) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAInstruction(user))
      return fail_lack(linker, dynamic, "is used in a constant expression");
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
    if (LLVMGetFunctionCallConv(function) != IR_SPIR_KERNEL)
      return fail_lack(linker, function, "is no kernel and uses dynamic group memory");
    LLVMValueRef parameter = add_parameter(linker->module, function, linker->request->arena);
    function = LLVMGetParamParent(parameter);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); ++k) {
          if (LLVMGetOperand(i, k) == dynamic)
            LLVMSetOperand(i, k, parameter);
        }
      }
    }
  }
  LLVMDeleteGlobal(dynamic);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

static kdl_status lower_function(const ir_linker *linker, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef called = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
      if (called && LLVMIsAFunction(called) && !LLVMGetIntrinsicID(called))
        LLVMSetInstructionCallConv(i, SPIR_FUNC);
      if (called == function)
        return fail_lack(linker, function, "calls itself");
      if (called && !LLVMIsAFunction(called))
        return fail_lack(linker, function, "calls through a pointer");
      if (LLVMIsAAddrSpaceCastInst(i) &&
          LLVMGetPointerAddressSpace(LLVMTypeOf(i)) == IR_SPACE_GENERIC)
        return fail_lack(linker, function,
                         "makes a plain pointer of one to global or group memory");
    }
  }
  return KDL_OK;
}

/* Subgroups came with version 1.3. */
static kdl_status choose_version(ir_linker *linker) {
  static const char *const lanes[] = {"kdl_p1_num_lanes", "kdl_p1_lane_",  "kdl_p1_first_lane",
                                      "kdl_p1_is_first",  "kdl_p1_ballot", "kdl_p1_sync_lane",
                                      "kdl_p1_shuffle_",  "kdl_p1_match_", "kdl_p1_read_first"};
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; ++i) {
      if (!LLVMGetFirstUse(f) || !kdl_text_starts(ir_value_name(f), lanes[i]))
        continue;
      if (linker->request->spec.il && linker->request->spec.il < KDL_VERSION_OF(1, 3))
        return fail_lack(linker, f, "needs subgroups");
      linker->target.triple = "spirv64v1.3-unknown-unknown";
    }
  }
  return ir_target_set_layout(&linker->target, linker->module);
}

kdl_status ir_lower_spirv(ir_linker *linker) {
  LLVMValueRef dynamic = LLVMGetNamedGlobal(linker->module, "kdl_dynamic");
  if (dynamic)
    KDL_TRY(pass_dynamic_memory(linker, dynamic));
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    KDL_TRY(lower_function(linker, f));
    if (LLVMGetFunctionCallConv(f) != IR_SPIR_KERNEL && !LLVMGetIntrinsicID(f))
      LLVMSetFunctionCallConv(f, SPIR_FUNC);
  }
  KDL_TRY(choose_version(linker));
  return edit_module(linker, edit_bf16);
}
