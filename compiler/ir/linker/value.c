/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/value.h"

#include "support/base/text.h"

#include <llvm-c/Comdat.h>

#include <stdio.h>

kdl_string ir_value_name(LLVMValueRef value) {
  kdl_string name;
  name.data = LLVMGetValueName2(value, &name.length);
  return name;
}

bool ir_value_is_exported(LLVMValueRef value) {
  LLVMLinkage linkage = LLVMGetLinkage(value);
  return !LLVMIsDeclaration(value) && linkage != LLVMInternalLinkage &&
         linkage != LLVMPrivateLinkage && linkage != LLVMAppendingLinkage &&
         linkage != LLVMAvailableExternallyLinkage;
}

bool ir_constant_is(LLVMValueRef variable) {
  return LLVMGetValueKind(variable) == LLVMGlobalVariableValueKind &&
         kdl_text_starts(ir_value_name(variable), IR_CONSTANT_PREFIX);
}

bool ir_value_is_needed(LLVMValueRef value) {
  return LLVMIsDeclaration(value) && LLVMGetFirstUse(value) &&
         !(LLVMIsAFunction(value) && LLVMGetIntrinsicID(value));
}

static void copy_message(char *text, char *buffer, size_t size) {
  snprintf(buffer, size, "%s", text);
  LLVMDisposeMessage(text);
}

void ir_type_print(LLVMTypeRef type, char *buffer, size_t size) {
  copy_message(LLVMPrintTypeToString(type), buffer, size);
}

void ir_value_print(LLVMValueRef value, char *buffer, size_t size) {
  copy_message(LLVMPrintValueToString(value), buffer, size);
}

static void visit_values(LLVMValueRef first, LLVMValueRef (*next)(LLVMValueRef),
                         void (*visit)(LLVMValueRef value, void *user), void *user) {
  for (LLVMValueRef value = first, after; value; value = after) {
    after = next(value);
    visit(value, user);
  }
}

void ir_module_each_global(LLVMModuleRef module, void (*visit)(LLVMValueRef value, void *user),
                           void *user) {
  visit_values(LLVMGetFirstFunction(module), LLVMGetNextFunction, visit, user);
  visit_values(LLVMGetFirstGlobal(module), LLVMGetNextGlobal, visit, user);
  visit_values(LLVMGetFirstGlobalAlias(module), LLVMGetNextGlobalAlias, visit, user);
  visit_values(LLVMGetFirstGlobalIFunc(module), LLVMGetNextGlobalIFunc, visit, user);
}

void ir_internalize(LLVMValueRef value) {
  if (!ir_value_is_exported(value))
    return;
  LLVMSetLinkage(value, LLVMInternalLinkage);
  LLVMSetVisibility(value, LLVMDefaultVisibility);
  if (LLVMIsAGlobalObject(value))
    LLVMSetComdat(value, NULL);
}
