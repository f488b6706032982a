/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For AMD's GPUs: private memory has an address space of its own, and so have the variables of a
 * module; a structure by value is copied by the caller, and is a reference to constant memory where
 * it is a kernel's.
 */
#include "compiler/ir/llvm_versions.h"
#include "compiler/ir/portable/form.h"
#include "compiler/ir/portable/lower.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMTargetDataRef layout;
  LLVMBuilderRef builder;
  kdl_arena *arena;
} amd;

static unsigned kind_of(const char *attribute) {
  return LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
}

static void set_attribute(LLVMValueRef function, const char *key, const char *value) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateStringAttribute(context, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value)));
}

static LLVMTypeRef type_of_attribute(LLVMAttributeRef attribute) {
  return attribute ? LLVMGetTypeAttributeValue(attribute) : NULL;
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

/* A copy of the variable in global or constant memory; its address as a generic pointer replaces
 * the old one. */
static void move_variable(const amd *a, LLVMValueRef old) {
  bool is_constant = LLVMIsGlobalConstant(old);
  char name[512];
  snprintf(name, sizeof name, "%s", ir_value_name(old).data);
  LLVMSetValueName2(old, "", 0);
  LLVMValueRef made =
      LLVMAddGlobalInAddressSpace(a->module, LLVMGlobalGetValueType(old), name,
                                  is_constant ? IR_SPACE_CONSTANT : IR_SPACE_GLOBAL);
  if (LLVMGetInitializer(old))
    LLVMSetInitializer(made, LLVMGetInitializer(old));
  LLVMSetLinkage(made, LLVMGetLinkage(old));
  LLVMSetVisibility(made, LLVMGetVisibility(old));
  LLVMSetGlobalConstant(made, is_constant);
  LLVMSetAlignment(made, LLVMGetAlignment(old));
  LLVMSetUnnamedAddress(made, LLVMGetUnnamedAddress(old));
  LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(made, LLVMTypeOf(old)));
  LLVMDeleteGlobal(old);
}

static void move_variables(const amd *a) {
  for (LLVMValueRef v = LLVMGetFirstGlobal(a->module), next; v; v = next) {
    next = LLVMGetNextGlobal(v);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == IR_SPACE_GENERIC && !ir_constant_is(v) &&
        !kdl_text_starts(ir_value_name(v), "llvm."))
      move_variable(a, v);
  }
}

/* The data layout makes each alloca one in private memory. */
static LLVMValueRef build_private(const amd *a, LLVMTypeRef type, LLVMValueRef count,
                                  unsigned align) {
  LLVMValueRef made = count ? LLVMBuildArrayAlloca(a->builder, type, count, "")
                            : LLVMBuildAlloca(a->builder, type, "");
  LLVMSetAlignment(made, align);
  return LLVMBuildAddrSpaceCast(a->builder, made, LLVMPointerTypeInContext(a->context, 0), "");
}

/* ------------------------------------------------------------------------------------------ */
/* Structures by value                                                                          */

static LLVMValueRef size_of(const amd *a, LLVMTypeRef type) {
  return LLVMConstInt(LLVMInt64TypeInContext(a->context), LLVMABISizeOfType(a->layout, type),
                      false);
}

static void position_at_entry(const amd *a, LLVMValueRef function) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function);
  LLVMPositionBuilderBefore(a->builder, LLVMGetFirstInstruction(entry));
}

/* The caller makes the copy that "byval" stands for. */
static void copy_arguments(const amd *a, LLVMValueRef call) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); ++i) {
    LLVMTypeRef type =
        type_of_attribute(LLVMGetCallSiteEnumAttribute(call, i + 1, kind_of("byval")));
    if (!type)
      continue;
    unsigned align = LLVMABIAlignmentOfType(a->layout, type);
    position_at_entry(a, function);
    LLVMValueRef copy = build_private(a, type, NULL, align);
    LLVMPositionBuilderBefore(a->builder, call);
    LLVMBuildMemCpy(a->builder, copy, align, LLVMGetOperand(call, i), 1, size_of(a, type));
    LLVMSetOperand(call, i, copy);
    LLVMRemoveCallSiteEnumAttribute(call, i + 1, kind_of("byval"));
  }
}

static void drop_by_value(LLVMValueRef function) {
  for (unsigned i = 1; i <= LLVMCountParams(function); ++i)
    LLVMRemoveEnumAttributeAtIndex(function, i, kind_of("byval"));
}

static void set_by_reference(const amd *a, LLVMValueRef function, unsigned index, LLVMTypeRef type,
                             unsigned align) {
  LLVMAddAttributeAtIndex(function, index,
                          LLVMCreateTypeAttribute(a->context, kind_of("byref"), type));
  LLVMAddAttributeAtIndex(function, index,
                          LLVMCreateEnumAttribute(a->context, kind_of("align"), align));
}

/* A kernel whose structures are references to the launch's arguments; it begins with copies. */
static void replace_kernel(const amd *a, LLVMValueRef old) {
  unsigned count = LLVMCountParams(old);
  LLVMTypeRef *types = xarena_alloc(a->arena, (count + 1) * sizeof *types);
  char name[512];
  LLVMGetParamTypes(LLVMGlobalGetValueType(old), types);
  for (unsigned i = 0; i < count; ++i) {
    if (LLVMGetEnumAttributeAtIndex(old, i + 1, kind_of("byval")))
      types[i] = LLVMPointerTypeInContext(a->context, IR_SPACE_CONSTANT);
  }
  snprintf(name, sizeof name, "%s", ir_value_name(old).data);
  LLVMSetValueName2(old, "", 0);
  LLVMValueRef made = LLVMAddFunction(
      a->module, name, LLVMFunctionType(LLVMVoidTypeInContext(a->context), types, count, false));
  LLVMSetLinkage(made, LLVMGetLinkage(old));
  LLVMSetVisibility(made, LLVMGetVisibility(old));
  LLVMSetFunctionCallConv(made, LLVMGetFunctionCallConv(old));
  ir_copy_attributes(old, made, IR_FUNCTION_ATTRIBUTES);
  for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(old));) {
    LLVMRemoveBasicBlockFromParent(b);
    LLVMAppendExistingBasicBlock(made, b);
  }
  for (unsigned i = 0; i < count; ++i) {
    LLVMTypeRef type = type_of_attribute(LLVMGetEnumAttributeAtIndex(old, i + 1, kind_of("byval")));
    LLVMValueRef value = LLVMGetParam(made, i);
    if (type) {
      unsigned align = LLVMABIAlignmentOfType(a->layout, type);
      set_by_reference(a, made, i + 1, type, align);
      position_at_entry(a, made);
      LLVMValueRef copy = build_private(a, type, NULL, align);
      LLVMBuildMemCpy(a->builder, copy, align, value, align, size_of(a, type));
      value = copy;
    } else {
      ir_copy_attributes(old, made, i + 1);
    }
    LLVMReplaceAllUsesWith(LLVMGetParam(old, i), value);
  }
  LLVMDeleteFunction(old);
}

static bool has_structures(LLVMValueRef function) {
  for (unsigned i = 1; i <= LLVMCountParams(function); ++i) {
    if (LLVMGetEnumAttributeAtIndex(function, i, kind_of("byval")))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

/* Other work-items are on the same device. */
static void narrow_scope(const amd *a, LLVMValueRef atomic) {
  static const char scope[] = "agent";
  if ((LLVMIsAAtomicRMWInst(atomic) || LLVMIsAAtomicCmpXchgInst(atomic)) &&
      LLVMGetAtomicSyncScopeID(atomic) == LLVMGetSyncScopeID(a->context, "", 0))
    LLVMSetAtomicSyncScopeID(atomic, LLVMGetSyncScopeID(a->context, scope, sizeof scope - 1));
}

/* LLVM allows marks of lifetimes on an alloca itself alone. */
static bool is_lifetime(LLVMValueRef instruction) {
  return LLVMIsACallInst(instruction) && LLVMIsAFunction(LLVMGetCalledValue(instruction)) &&
         kdl_text_starts(ir_value_name(LLVMGetCalledValue(instruction)), "llvm.lifetime.");
}

static void lower_instruction(const amd *a, LLVMValueRef i) {
  if (is_lifetime(i)) {
    LLVMInstructionEraseFromParent(i);
  } else if (LLVMIsAAllocaInst(i)) {
    LLVMPositionBuilderBefore(a->builder, i);
    LLVMValueRef count = LLVMGetOperand(i, 0);
    bool is_one = LLVMIsAConstantInt(count) && LLVMConstIntGetZExtValue(count) == 1;
    LLVMValueRef made =
        build_private(a, LLVMGetAllocatedType(i), is_one ? NULL : count, LLVMGetAlignment(i));
    LLVMReplaceAllUsesWith(i, made);
    LLVMInstructionEraseFromParent(i);
  } else if (LLVMIsACallInst(i)) {
    copy_arguments(a, i);
  } else {
    narrow_scope(a, i);
  }
}

static void lower_body(const amd *a, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      if (!LLVMIsAAllocaInst(i) ||
          LLVMGetPointerAddressSpace(LLVMTypeOf(i)) == IR_SPACE_GENERIC) /* not a copy's */
        lower_instruction(a, i);
    }
  }
}

/* The compiler allocates registers by the size of groups. */
static void describe_kernel(LLVMValueRef function) {
  ir_form_kernel kernel;
  char items[64];
  ir_form_kernel_of(function, &kernel);
  uint64_t count = (uint64_t)kernel.block[0] * kernel.block[1] * kernel.block[2];
  if (count > 0 && count <= 1024)
    snprintf(items, sizeof items, "%u,%u", (unsigned)count, (unsigned)count);
  else
    snprintf(items, sizeof items, "1,1024");
  set_attribute(function, "amdgpu-flat-work-group-size", items);
  set_attribute(function, "uniform-work-group-size", "true");
  LLVMSetFunctionCallConv(function, IR_AMDGPU_KERNEL);
}

static void set_code_object(const ir_linker *linker) {
  static const char flag[] = "amdhsa_code_object_version";
  LLVMContextRef context = linker->context->llvm;
  bool is_generic = strstr(linker->request->spec.arch, "generic") != NULL;
  LLVMAddModuleFlag(linker->module, LLVMModuleFlagBehaviorError, flag, sizeof flag - 1,
                    LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context),
                                                     is_generic ? 600 : 500, false)));
}

kdl_status ir_lower_amd(ir_linker *linker) {
  LLVMModuleRef module = linker->module;
  amd a = {.module = module,
           .context = linker->context->llvm,
           .layout = LLVMGetModuleDataLayout(module),
           .builder = ir_create_builder(module),
           .arena = linker->request->arena};
  move_variables(&a);
  for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
    next = LLVMGetNextFunction(f);
    lower_body(&a, f);
    if (LLVMGetFunctionCallConv(f) != IR_SPIR_KERNEL) {
      drop_by_value(f);
      continue;
    }
    describe_kernel(f);
    if (has_structures(f) && !LLVMIsDeclaration(f))
      replace_kernel(&a, f);
  }
  LLVMDisposeBuilder(a.builder);
  set_code_object(linker);
  return KDL_OK;
}
