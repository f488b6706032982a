/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/multiply_add.h"
#include "compiler/ir/llvm_versions.h"

#include <stdlib.h>
#include <string.h>

static LLVMTypeRef element_type(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static void copy_text_attributes(LLVMValueRef from, LLVMValueRef to) {
  LLVMAttributeRef attributes[128];
  unsigned count = LLVMGetAttributeCountAtIndex(from, IR_FUNCTION_ATTRIBUTES);
  if (count > sizeof attributes / sizeof *attributes)
    return;
  LLVMGetAttributesAtIndex(from, IR_FUNCTION_ATTRIBUTES, attributes);
  for (unsigned i = 0; i < count; ++i) {
    if (LLVMIsStringAttribute(attributes[i]))
      LLVMAddAttributeAtIndex(to, IR_FUNCTION_ATTRIBUTES, attributes[i]);
  }
}

/* A function of the one operation, with the attributes of the function that has it. */
static LLVMModuleRef make_probe(const ir_linker *linker, LLVMValueRef like, LLVMTypeRef type) {
  LLVMContextRef context = LLVMGetModuleContext(linker->module);
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("probe", context);
  LLVMSetTarget(module, LLVMGetTarget(linker->module));
  LLVMSetDataLayout(module, LLVMGetDataLayoutStr(linker->module));
  LLVMValueRef function = LLVMAddFunction(
      module, "probe", LLVMFunctionType(type, (LLVMTypeRef[]){type, type, type}, 3, 0));
  copy_text_attributes(like, function);
  LLVMBuilderRef builder = ir_create_builder(module);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, ""));
  LLVMValueRef arguments[3];
  LLVMGetParams(function, arguments);
  unsigned id = LLVMLookupIntrinsicID("llvm.fmuladd", strlen("llvm.fmuladd"));
  LLVMValueRef intrinsic = LLVMGetIntrinsicDeclaration(module, id, &type, 1);
  LLVMBuildRet(builder, LLVMBuildCall2(builder, LLVMGlobalGetValueType(intrinsic), intrinsic,
                                       arguments, 3, ""));
  LLVMDisposeBuilder(builder);
  return module;
}

/* Every target's instruction of one rounding has these letters: vfmadd, fmadd, fma.rn, v_fma,
 * v_fmac.
 */
static bool probe_is_fused(const ir_linker *linker, LLVMValueRef like, LLVMTypeRef type) {
  LLVMModuleRef module = make_probe(linker, like, type);
  LLVMMemoryBufferRef text = NULL;
  char *problem = NULL;
  bool is_fused = false;
  if (LLVMTargetMachineEmitToMemoryBuffer(linker->target.machine, module, LLVMAssemblyFile,
                                          &problem, &text)) {
    LLVMDisposeMessage(problem);
  } else {
    is_fused = memmem(LLVMGetBufferStart(text), LLVMGetBufferSize(text), "fma", 3) != NULL;
    LLVMDisposeMemoryBuffer(text);
  }
  LLVMDisposeModule(module);
  return is_fused;
}

static bool is_fused(const ir_linker *linker, ir_multiply_adds *adds, LLVMValueRef like,
                     LLVMTypeRef type) {
  size_t at = 0;
  while (adds->known[at].type && adds->known[at].type != type)
    ++at; /* there are four such types */
  if (!adds->known[at].type) {
    adds->known[at].type = type;
    adds->known[at].is_fused = probe_is_fused(linker, like, type);
  }
  return adds->known[at].is_fused;
}

bool ir_multiply_add_decide(const ir_linker *linker, ir_multiply_adds *adds, LLVMValueRef call) {
  LLVMTypeRef type = LLVMTypeOf(call), element = element_type(type);
  LLVMTypeKind kind = LLVMGetTypeKind(element);
  bool is_narrow = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
  if (!is_narrow && kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind)
    return false;
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  bool fused = is_fused(linker, adds, function, element);
  if (is_narrow && linker->target.family != KDL_FAMILY_NVPTX)
    return false;
  LLVMBuilderRef builder = ir_create_builder(linker->module);
  LLVMPositionBuilderBefore(builder, call);
  LLVMValueRef operands[3], value;
  for (unsigned i = 0; i < 3; ++i)
    operands[i] = LLVMGetOperand(call, i);
  if (fused) {
    unsigned id = LLVMLookupIntrinsicID("llvm.fma", strlen("llvm.fma"));
    LLVMValueRef intrinsic = LLVMGetIntrinsicDeclaration(linker->module, id, &type, 1);
    value = LLVMBuildCall2(builder, LLVMGlobalGetValueType(intrinsic), intrinsic, operands, 3, "");
  } else {
    value = LLVMBuildFAdd(builder, LLVMBuildFMul(builder, operands[0], operands[1], ""),
                          operands[2], "");
  }
  LLVMReplaceAllUsesWith(call, value);
  LLVMInstructionEraseFromParent(call);
  LLVMDisposeBuilder(builder);
  return true;
}
