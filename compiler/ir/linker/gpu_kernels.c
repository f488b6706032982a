/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/linker.h"
#include "support/base/error.h"

#include <kdl/ukernel.h>

#include <stdio.h>
#include <string.h>

static void set_attribute(LLVMValueRef function, LLVMAttributeIndex index, const char *key,
                          const char *value) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  LLVMAddAttributeAtIndex(function, index,
                          LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value)));
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters that stay where the launch put them                                               */

static bool is_grid_constant(LLVMValueRef kernel, unsigned index, unsigned by_value) {
  LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(kernel, index, by_value);
  LLVMTypeRef type = attribute ? LLVMGetTypeAttributeValue(attribute) : NULL;
  if (!type || LLVMGetTypeKind(type) != LLVMStructTypeKind)
    return false;
  const char *name = LLVMGetStructName(type);
  return name && kdl_text_starts(kdl_text_of(name), "struct." KDL_GRID_CONSTANT_PREFIX);
}

void ir_gpu_mark_grid_constants(const ir_linker *linker) {
  const char *by_value = "byval";
  unsigned kind = LLVMGetEnumAttributeKindForName(by_value, strlen(by_value));
  if (linker->target.family != KDL_FAMILY_NVPTX)
    return;
  for (size_t i = 0; i < linker->kernels.count; ++i) {
    LLVMValueRef kernel = LLVMGetNamedFunction(linker->module, linker->kernels.items[i]);
    for (unsigned at = 1; kernel && at <= LLVMCountParams(kernel); ++at) {
      if (is_grid_constant(kernel, at, kind))
        set_attribute(kernel, at, "nvvm.grid_constant", "");
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Work-items of a group                                                                        */

/* The constant that a function returns in its only instruction, or NULL. */
static LLVMValueRef constant_result(LLVMValueRef function) {
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  LLVMValueRef first = block ? LLVMGetFirstInstruction(block) : NULL;
  if (!first || LLVMGetInstructionOpcode(first) != LLVMRet || LLVMGetNumOperands(first) != 1)
    return NULL;
  LLVMValueRef value = LLVMGetOperand(first, 0);
  return LLVMIsAConstantInt(value) ? value : NULL;
}

static kdl_status set_block(const ir_linker *linker, LLVMValueRef kernel, LLVMValueRef function) {
  LLVMValueRef value = constant_result(function);
  if (!value)
    return kdl_fail(KDL_BAD_FILE,
                    "%s: '%.128s' returns no constant after inlining, expected the number of "
                    "work-items in a group",
                    linker->request->caller, ir_value_name(function).data);
  unsigned long long items = LLVMConstIntGetZExtValue(value);
  char text[48];
  if (!items) /* no such variant of the kernel: it does nothing */
    return KDL_OK;
  static const char exact[] = "nvvm.reqntid"; /* by ir_fold */
  if (LLVMGetStringAttributeAtIndex(kernel, IR_FUNCTION_ATTRIBUTES, exact, sizeof exact - 1))
    return KDL_OK;
  if (linker->target.family == KDL_FAMILY_NVPTX) {
    snprintf(text, sizeof text, "%llu", items);
    set_attribute(kernel, IR_FUNCTION_ATTRIBUTES, "nvvm.maxntid", text);
  } else {
    snprintf(text, sizeof text, "%llu,%llu", items, items);
    set_attribute(kernel, IR_FUNCTION_ATTRIBUTES, "amdgpu-flat-work-group-size", text);
  }
  return KDL_OK;
}

kdl_status ir_gpu_set_blocks(ir_linker *linker) {
  if (linker->target.family != KDL_FAMILY_NVPTX && linker->target.family != KDL_FAMILY_AMDGCN)
    return KDL_OK;
  for (size_t i = 0; i < linker->kernels.count; ++i) {
    char name[512];
    snprintf(name, sizeof name, KDL_GROUP_ITEMS_PREFIX "%s", linker->kernels.items[i]);
    LLVMValueRef kernel = LLVMGetNamedFunction(linker->module, linker->kernels.items[i]);
    LLVMValueRef function = LLVMGetNamedFunction(linker->module, name);
    if (!kernel || !function)
      continue;
    KDL_TRY(set_block(linker, kernel, function));
    LLVMDeleteFunction(function);
  }
  return KDL_OK;
}
