/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The translator writes IR in the conventions of SPIR: private memory 0, global 1, constant 2,
 * group 3, generic 4. In the form private and generic pointers are the same, and constant memory,
 * which a kernel gets pointers to from any buffer, is global. Types cannot be changed in place, so
 * the module is printed, rewritten and read again, as in compiler/ir/portable/flatten.c.
 */
#include "compiler/ir/portable/form.h"
#include "compiler/ir/spirv/spirv.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* Address spaces                                                                               */

enum { SPIR_CONSTANT = 2, SPIR_GENERIC = 4 };

static unsigned form_space(unsigned spir) {
  return spir == SPIR_CONSTANT ? IR_SPACE_GLOBAL : spir == SPIR_GENERIC ? IR_SPACE_GENERIC : spir;
}

/* The length of " addrspace(N)" at `at`, or 0. */
static size_t space_at(const char *at, unsigned *out_space) {
  static const char word[] = " addrspace(";
  char *end;
  *out_space = 0;
  if (strncmp(at, word, sizeof word - 1) != 0)
    return 0;
  *out_space = (unsigned)strtoul(at + sizeof word - 1, &end, 10);
  return *end == ')' ? (size_t)(end + 1 - at) : 0;
}

/* Whether the cast at `at`, after the word, is between spaces that are one in the form: "ptr
 * addrspace(1) %x to ptr addrspace(4)", also in parentheses. */
static bool is_vacuous_cast(const char *at) {
  unsigned from, to;
  at += *at == '(';
  if (strncmp(at, "ptr", 3) != 0)
    return false;
  at += 3 + space_at(at + 3, &from);
  for (int depth = 0; *at && *at != '\n'; ++at) {
    depth += (*at == '(') - (*at == ')');
    if (depth == 0 && strncmp(at, " to ptr", 7) == 0) {
      space_at(at + 7, &to);
      return form_space(from) == form_space(to);
    }
  }
  return false;
}

/* Rewrites in place: the text becomes no longer. */
static size_t rewrite_spaces(char *text) {
  static const char cast[] = "addrspacecast ", plain[] = "bitcast ";
  char *out = text;
  bool is_quoted = false;
  for (const char *at = text; *at;) {
    unsigned space;
    size_t length = 0;
    is_quoted ^= *at == '"';
    if (!is_quoted && (length = space_at(at, &space)) > 0) {
      if (form_space(space) != IR_SPACE_GENERIC) {
        char changed[32];
        int written = snprintf(changed, sizeof changed, " addrspace(%u)", form_space(space));
        out = (char *)memcpy(out, changed, (size_t)written) + written;
      }
      at += length;
    } else if (!is_quoted && strncmp(at, cast, sizeof cast - 1) == 0 &&
               is_vacuous_cast(at + sizeof cast - 1)) {
      out = (char *)memcpy(out, plain, sizeof plain - 1) + sizeof plain - 1;
      at += sizeof cast - 1;
    } else {
      *out++ = *at++;
    }
  }
  *out = '\0';
  return (size_t)(out - text);
}

static kdl_status change_spaces(const ir_linker *linker, LLVMModuleRef *module) {
  LLVMModuleRef made = NULL;
  char *text = cli_check_alloc(LLVMPrintModuleToString(*module));
  kdl_status status = ir_module_read_text(linker->context, text, rewrite_spaces(text),
                                          linker->request->caller, &made);
  LLVMDisposeMessage(text);
  if (status != KDL_OK)
    return status;
  LLVMDisposeModule(*module);
  *module = made;
  return ir_module_verify(made, linker->request->caller,
                          "broken when its address spaces were changed");
}

/* ------------------------------------------------------------------------------------------ */
/* Functions                                                                                    */

/* Functions that no kernel needs: declarations of the translator's, and copies of kernels that
 * Clang calls other kernels by. */
static void drop_unused(LLVMModuleRef module) {
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
      next = LLVMGetNextFunction(f);
      if (LLVMGetFunctionCallConv(f) == IR_SPIR_KERNEL || LLVMGetFirstUse(f))
        continue;
      LLVMDeleteFunction(f);
      has_changed = true;
    }
  }
}

static void set_conventions(LLVMValueRef function) {
  static const char convergent[] = "convergent";
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  bool is_kernel = LLVMGetFunctionCallConv(function) == IR_SPIR_KERNEL;
  if (!is_kernel)
    LLVMSetFunctionCallConv(function, LLVMCCallConv);
  if (LLVMIsDeclaration(function))
    return;
  if (!is_kernel)
    LLVMSetLinkage(function, LLVMInternalLinkage);
  /* Modules do not mark functions that wait for others; LLVM finds those that do not. */
  LLVMAddAttributeAtIndex(
      function, IR_FUNCTION_ATTRIBUTES,
      LLVMCreateEnumAttribute(
          context, LLVMGetEnumAttributeKindForName(convergent, sizeof convergent - 1), 0));
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      if (LLVMIsACallInst(i))
        LLVMSetInstructionCallConv(i, LLVMCCallConv);
    }
  }
}

/* Group memory has no initial value; names that a compiler made up are no device's to find, and
 * PTX has no dots. */
static void set_variable(LLVMValueRef variable) {
  if (LLVMIsDeclaration(variable))
    return;
  bool is_group = LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == IR_SPACE_GROUP;
  if (is_group || kdl_text_contains(ir_value_name(variable), "."))
    LLVMSetLinkage(variable, LLVMInternalLinkage);
  if (is_group)
    LLVMSetInitializer(variable, LLVMGetPoison(LLVMGlobalGetValueType(variable)));
}

/* The size of groups that OpenCL's reqd_work_group_size asks for; 0: the launch decides. */
static void read_block(LLVMValueRef function, ir_form_kernel *kernel) {
  static const char key[] = "reqd_work_group_size";
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  size_t count;
  LLVMValueMetadataEntry *entries = LLVMGlobalCopyAllMetadata(function, &count);
  for (size_t i = 0; i < count; ++i) {
    LLVMValueRef numbers[3];
    if (LLVMValueMetadataEntriesGetKind(entries, (unsigned)i) !=
        LLVMGetMDKindIDInContext(context, key, sizeof key - 1))
      continue;
    LLVMValueRef node =
        LLVMMetadataAsValue(context, LLVMValueMetadataEntriesGetMetadata(entries, (unsigned)i));
    if (LLVMGetMDNodeNumOperands(node) != 3)
      continue;
    LLVMGetMDNodeOperands(node, numbers);
    for (int d = 0; d < 3; ++d) {
      if (numbers[d] && LLVMIsAConstantInt(numbers[d]))
        kernel->block[d] = kernel->tile[d] = (uint32_t)LLVMConstIntGetZExtValue(numbers[d]);
    }
  }
  LLVMDisposeValueMetadataEntries(entries);
}

/* ------------------------------------------------------------------------------------------ */
/* Group memory as a parameter                                                                  */

static bool is_group_pointer(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMPointerTypeKind &&
         LLVMGetPointerAddressSpace(type) == IR_SPACE_GROUP;
}

static LLVMValueRef dynamic_memory(LLVMModuleRef module) {
  LLVMValueRef found = LLVMGetNamedGlobal(module, "kdl_dynamic");
  if (found)
    return found;
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(LLVMGetModuleContext(module)), 0);
  found = LLVMAddGlobalInAddressSpace(module, type, "kdl_dynamic", IR_SPACE_GROUP);
  LLVMSetAlignment(found, 16);
  return found;
}

/* The kernel without its last parameter, which becomes the group memory of the launch. */
static void drop_last_parameter(const ir_linker *linker, LLVMModuleRef module, LLVMValueRef old) {
  unsigned count = LLVMCountParams(old) - 1;
  LLVMTypeRef *types = xarena_alloc(linker->request->arena, (count + 1) * sizeof *types);
  LLVMTypeRef result = LLVMVoidTypeInContext(linker->context->llvm);
  LLVMGetParamTypes(LLVMGlobalGetValueType(old), types);
  const char *name = xarena_format(linker->request->arena, "%s", ir_value_name(old).data);
  LLVMSetValueName2(old, "", 0);
  LLVMValueRef made = LLVMAddFunction(module, name, LLVMFunctionType(result, types, count, false));
  LLVMSetFunctionCallConv(made, IR_SPIR_KERNEL);
  ir_copy_attributes(old, made, IR_FUNCTION_ATTRIBUTES);
  for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(old));) {
    LLVMRemoveBasicBlockFromParent(b);
    LLVMAppendExistingBasicBlock(made, b);
  }
  for (unsigned i = 0; i < count; ++i) {
    ir_copy_attributes(old, made, i + 1);
    LLVMReplaceAllUsesWith(LLVMGetParam(old, i), LLVMGetParam(made, i));
  }
  LLVMReplaceAllUsesWith(LLVMGetParam(old, count), dynamic_memory(module));
  LLVMDeleteFunction(old);
}

static kdl_status pass_group_memory(const ir_linker *linker, LLVMModuleRef module,
                                    LLVMValueRef kernel) {
  unsigned count = LLVMCountParams(kernel), group = 0;
  for (unsigned i = 0; i < count; ++i)
    group += is_group_pointer(LLVMTypeOf(LLVMGetParam(kernel, i)));
  if (group == 0)
    return KDL_OK;
  if (group > 1 || !is_group_pointer(LLVMTypeOf(LLVMGetParam(kernel, count - 1))))
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: '%.128s' takes %u pointers to group memory, which is translated for %s "
                    "only if one is the last parameter: it becomes the group memory of the launch",
                    linker->request->caller, ir_value_name(kernel).data, group,
                    linker->request->device_label);
  drop_last_parameter(linker, module, kernel);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

kdl_status ir_spirv_make_form(ir_linker *linker, LLVMModuleRef *module) {
  kdl_arena *arena = linker->request->arena;
  size_t count = 0;
  drop_unused(*module);
  LLVMSetTarget(*module, "");
  LLVMSetDataLayout(*module, "");
  KDL_TRY(change_spaces(linker, module));
  for (LLVMValueRef f = LLVMGetFirstFunction(*module); f; f = LLVMGetNextFunction(f)) {
    set_conventions(f);
    count += LLVMGetFunctionCallConv(f) == IR_SPIR_KERNEL;
  }
  for (LLVMValueRef v = LLVMGetFirstGlobal(*module); v; v = LLVMGetNextGlobal(v))
    set_variable(v);
  ir_form_kernel *kernels = xarena_alloc(arena, (count + 1) * sizeof *kernels);
  LLVMValueRef *functions = xarena_alloc(arena, (count + 1) * sizeof(LLVMValueRef));
  count = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(*module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMGetFunctionCallConv(f) != IR_SPIR_KERNEL)
      continue;
    kernels[count] =
        (ir_form_kernel){.name = xarena_format(arena, "%s", ir_value_name(f).data), .bound = -1};
    read_block(f, &kernels[count]);
    functions[count++] = f;
  }
  for (size_t i = 0; i < count; ++i)
    KDL_TRY(pass_group_memory(linker, *module, functions[i]));
  return ir_form_make(*module, kernels, count, linker->request->caller);
}
