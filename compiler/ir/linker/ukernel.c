/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/ukernel.h"

#include "support/base/text.h"
#include "support/base/triple.h"

#include <kdl/ukernel.h>

#include <stdarg.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------ */
/* Signature                                                                                    */

static bool has_same_abi(LLVMValueRef declared, LLVMValueRef defined) {
  static const char *const abi[] = {"byval", "sret", "inalloca", "byref", "preallocated"};
  unsigned count = LLVMCountParams(declared);
  for (size_t i = 0; i < sizeof abi / sizeof *abi; ++i) {
    unsigned kind = LLVMGetEnumAttributeKindForName(abi[i], strlen(abi[i]));
    for (unsigned parameter = 1; parameter <= count; ++parameter) {
      if (LLVMGetEnumAttributeAtIndex(declared, parameter, kind) !=
          LLVMGetEnumAttributeAtIndex(defined, parameter, kind))
        return false;
    }
  }
  return LLVMGetFunctionCallConv(declared) == LLVMGetFunctionCallConv(defined);
}

/* Writes the reason; false. */
__attribute__((format(printf, 2, 3))) static bool refuse(ir_reason *why, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why->text, sizeof why->text, format, arguments);
  va_end(arguments);
  return false;
}

bool ir_ukernel_has_signature(LLVMValueRef declared, LLVMValueRef defined, const char *caller,
                              ir_reason *why) {
  LLVMTypeRef wanted = LLVMGlobalGetValueType(declared);
  LLVMTypeRef found = LLVMGlobalGetValueType(defined);
  const char *symbol = ir_value_name(defined).data;
  if (wanted != found) {
    char here[256], there[256];
    ir_type_print(wanted, here, sizeof here);
    ir_type_print(found, there, sizeof there);
    return refuse(why, "found '%.128s' as '%s', expected '%s', as %s declares it", symbol, there,
                  here, caller);
  }
  if (!has_same_abi(declared, defined))
    return refuse(why, "'%.128s' takes its arguments by another convention than %s passes them",
                  symbol, caller);
  for (LLVMUseRef use = LLVMGetFirstUse(declared); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef call = LLVMGetUser(use);
    if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == declared &&
        LLVMGetCalledFunctionType(call) != wanted)
      return refuse(why, "%s calls '%.128s' with other arguments than it declares", caller, symbol);
  }
  return true;
}

/* ------------------------------------------------------------------------------------------ */
/* Layout                                                                                       */

/* The built-in interfaces that have a layout, for callers whose compiler did not use their
 * headers. */
static const struct {
  const char *prefix, *layout;
  bool is_for_amd;
} layouts[] = {{"kdl_uk_mma_", KDL_UKERNEL_LAYOUT_PREFIX KDL_MMA_LAYOUT, false},
               {"kdl_uk_gpu_mma_", KDL_UKERNEL_LAYOUT_PREFIX KDL_GPU_MMA_LAYOUT, false},
               {"kdl_uk_gpu_mma_", KDL_UKERNEL_LAYOUT_PREFIX KDL_GPU_MMA_AMD_LAYOUT, true}};

static kdl_string layout_of(LLVMValueRef function) {
  const char *section = LLVMGetSection(function);
  kdl_string mark = kdl_text_of(section ? section : "");
  return kdl_text_starts(mark, KDL_UKERNEL_LAYOUT_PREFIX) ? mark : KDL_TEXT("");
}

static kdl_string layout_of_interface(LLVMValueRef function) {
  kdl_string symbol = ir_value_name(function);
  const char *triple = LLVMGetTarget(LLVMGetGlobalParent(function));
  const bool is_amd = kdl_triple_is_amd(kdl_text_of(triple));
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
    if (kdl_text_starts(symbol, layouts[i].prefix) && layouts[i].is_for_amd == is_amd)
      return kdl_text_of(layouts[i].layout);
  }
  return KDL_TEXT("");
}

bool ir_ukernel_has_layout(LLVMValueRef declared, LLVMValueRef defined, ir_reason *why) {
  const size_t prefix = sizeof KDL_UKERNEL_LAYOUT_PREFIX - 1;
  kdl_string wanted = declared ? layout_of(declared) : KDL_TEXT(""), found = layout_of(defined);
  const bool is_callers = wanted.length > 0;
  if (!is_callers)
    wanted = layout_of_interface(defined);
  if (kdl_text_equal(wanted, found) || (!declared && !wanted.length)) {
    if (found.length)
      LLVMSetSection(defined, "");
    return true;
  }
  return refuse(
      why,
      "'%.128s' has %s%.64s%s, expected %s%.64s%s%s: its operands may lie otherwise in memory; "
      "compile it with the header that declares it (KDL_UKERNEL_LAYOUT)",
      ir_value_name(defined).data, found.length ? "the layout '" : "no layout mark",
      found.length ? found.data + prefix : "", found.length ? "'" : "",
      wanted.length ? "the layout '" : "none", wanted.length ? wanted.data + prefix : "",
      wanted.length ? "'" : "", is_callers ? ", as the caller" : "");
}

/* ------------------------------------------------------------------------------------------ */
/* State                                                                                        */

/* GPU group memory counts as scratch space and constant memory as constant, whatever the variable's
 * attributes; CPUs have no such address spaces. */
static bool is_mutable_global(LLVMValueRef variable) {
  enum { group_memory = 3, constant_memory = 4 };
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(variable));
  return !LLVMIsDeclaration(variable) && !ir_constant_is(variable) &&
         LLVMGetLinkage(variable) != LLVMAppendingLinkage &&
         (!LLVMIsGlobalConstant(variable) || LLVMIsThreadLocal(variable)) &&
         space != group_memory && space != constant_memory;
}

bool ir_ukernel_is_stateless(LLVMModuleRef module, const char *symbol, ir_reason *why) {
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v)) {
    kdl_string variable = ir_value_name(v);
    if (kdl_text_is(variable, "llvm.global_ctors") || kdl_text_is(variable, "llvm.global_dtors"))
      return refuse(why, "found constructors beside '%.128s', expected none in a microkernel",
                    symbol);
    if (is_mutable_global(v))
      return refuse(why, "'%.128s' uses the variable '%.128s', expected no state in a microkernel",
                    symbol, variable.data);
  }
  return true;
}
