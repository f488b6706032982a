/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/fold.h"
#include "compiler/ir/linker/ukernel_passes.h"
#include "compiler/ir/llvm_versions.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------ */
/* llvm.fmuladd                                                                                 */

/*
 * llvm.fmuladd: a product and sum that rounds once or twice, as the device prefers. LLVM evaluates
 * it with one rounding where all operands are constant, and with two where the factors are, on
 * every device.
 */

/* What LLVM's code generator makes of the types, as far as it was asked. */
typedef struct ir_multiply_adds {
  struct {
    LLVMTypeRef type; /* NULL: unused */
    bool is_fused;
  } known[4];
} ir_multiply_adds;

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

/* Replaces a call of llvm.fmuladd by llvm.fma or by a product and a sum, as code for the device has
 * it. False where neither has the same results, as for half precision that is computed in single.
 */
static bool decide_multiply_add(const ir_linker *linker, ir_multiply_adds *adds,
                                LLVMValueRef call) {
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

/* Those whose results are rounded correctly, as sqrt and fma, are not listed: LLVM's are the
 * device's. */
static const char *const inexact[] = {
    "acos",     "acosh", "asin",  "asinh", "atan",   "atan2", "atanh",  "cbrt",  "cos",
    "cosh",     "erf",   "erfc",  "exp",   "exp10",  "exp2",  "expm1",  "hypot", "lgamma",
    "log",      "log10", "log1p", "log2",  "pow",    "powi",  "remquo", "sin",   "sincos",
    "sincospi", "sinh",  "tan",   "tanh",  "tgamma", "cospi", "sinpi",  "tanpi"};

/* Instructions of AMD's GPUs with an error that LLVM evaluates without it. */
static const char *const approximate[] = {"cos", "div.fixup", "div.fmas", "exp2", "log",
                                          "rcp", "rsq",       "sin",      "sqrt", "tanh"};

#define MULTIPLY_ADD "llvm.fmuladd."

static bool is_listed(kdl_string name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (kdl_text_is(name, list[i]))
      return true;
  }
  return false;
}

/* "llvm.exp.v4f32" and "expf": exp */
static bool is_inexact(kdl_string name) {
  const size_t count = sizeof inexact / sizeof *inexact;
  if (kdl_text_starts(name, "llvm.")) {
    name = kdl_text_substr(name, strlen("llvm."));
    const char *dot = memchr(name.data, '.', name.length);
    return is_listed((kdl_string){name.data, dot ? (size_t)(dot - name.data) : name.length},
                     inexact, count);
  }
  if (is_listed(name, inexact, count))
    return true;
  char last = name.length ? name.data[name.length - 1] : 0;
  return (last == 'f' || last == 'l') &&
         is_listed((kdl_string){name.data, name.length - 1}, inexact, count);
}

static bool is_approximate(kdl_string name) {
  if (!kdl_text_starts(name, "llvm.amdgcn."))
    return false;
  name = kdl_text_substr(name, strlen("llvm.amdgcn."));
  for (size_t i = 0; i < sizeof approximate / sizeof *approximate; ++i) {
    size_t length = strlen(approximate[i]);
    if (kdl_text_starts(name, approximate[i]) &&
        (name.length == length || name.data[length] == '.'))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status fail_inexact(const ir_linker *linker, LLVMValueRef function, const char *what) {
  return kdl_fail(KDL_UNSUPPORTED, "%s: '%.128s' has %s, so that constants may change its results",
                  linker->request->caller, ir_value_name(function).data, what);
}

/* Literals let LLVM evaluate or replace calls in the kernel without constants too. What is left
 * after its passes is what the device computes. */
static bool has_inexact_calls(const ir_linker *linker) {
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    kdl_string name = ir_value_name(f);
    if (LLVMGetFirstUse(f) && (is_inexact(name) || kdl_text_starts(name, MULTIPLY_ADD)))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */

#define KEPT "kdl.kept."

/* The function as which LLVM's passes see an intrinsic, to know nothing of it but its effects. */
static LLVMValueRef kept_function(const ir_linker *linker, LLVMValueRef intrinsic) {
  char name[256];
  snprintf(name, sizeof name, KEPT "%.200s", ir_value_name(intrinsic).data);
  LLVMValueRef kept = LLVMGetNamedFunction(linker->module, name);
  if (!kept) {
    kept = LLVMAddFunction(linker->module, name, LLVMGlobalGetValueType(intrinsic));
    ir_copy_attributes(intrinsic, kept, IR_FUNCTION_ATTRIBUTES);
  }
  return kept;
}

static void keep_function(const ir_linker *linker, LLVMValueRef call, LLVMValueRef callee) {
  LLVMAddCallSiteAttribute(call, IR_FUNCTION_ATTRIBUTES,
                           LLVMCreateEnumAttribute(LLVMGetTypeContext(LLVMTypeOf(call)),
                                                   LLVMGetEnumAttributeKindForName("nobuiltin", 9),
                                                   0));
  if (ir_intrinsics_are_evaluated && LLVMGetIntrinsicID(callee))
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, kept_function(linker, callee));
}

void ir_exact_math_restore(const ir_linker *linker) {
  LLVMValueRef next;
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = next) {
    next = LLVMGetNextFunction(f);
    const char *name = ir_value_name(f).data;
    if (!kdl_text_starts(ir_value_name(f), KEPT))
      continue;
    LLVMValueRef intrinsic = LLVMGetNamedFunction(linker->module, name + strlen(KEPT));
    if (!intrinsic)
      intrinsic = LLVMAddFunction(linker->module, name + strlen(KEPT), LLVMGlobalGetValueType(f));
    LLVMReplaceAllUsesWith(f, intrinsic);
    LLVMDeleteFunction(f);
  }
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status keep_call(const ir_linker *linker, ir_multiply_adds *adds, LLVMValueRef function,
                            LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (!callee || LLVMGetValueKind(callee) != LLVMFunctionValueKind)
    return KDL_OK;
  kdl_string name = ir_value_name(callee);
  if (is_approximate(name))
    return fail_inexact(linker, function, name.data);
  if (is_inexact(name))
    keep_function(linker, call, callee);
  else if (kdl_text_starts(name, MULTIPLY_ADD) && linker->target.family != KDL_FAMILY_SPIRV &&
           !decide_multiply_add(linker, adds, call))
    return fail_inexact(linker, function, "a product and sum of half precision");
  return KDL_OK;
}

/* Whether code for the family divides less exactly where it is permitted; others ignore it. */
static bool uses_accuracy(kdl_target_family family) {
  return family == KDL_FAMILY_AMDGCN || family == KDL_FAMILY_SPIRV;
}

static kdl_status keep_instruction(const ir_linker *linker, ir_multiply_adds *adds,
                                   LLVMValueRef function, LLVMValueRef instruction,
                                   unsigned accuracy) {
  if (LLVMCanValueUseFastMathFlags(instruction) &&
      (LLVMGetFastMathFlags(instruction) & ~IR_INFERRED_FLAGS))
    return fail_inexact(linker, function, "fast-math flags");
  if (uses_accuracy(linker->target.family) && LLVMGetMetadata(instruction, accuracy))
    return fail_inexact(linker, function, "operations with a permitted error");
  return LLVMIsACallInst(instruction) ? keep_call(linker, adds, function, instruction) : KDL_OK;
}

kdl_status ir_exact_math_keep(const ir_linker *linker) {
  LLVMContextRef context = LLVMGetModuleContext(linker->module);
  ir_multiply_adds adds = {{{NULL, false}}};
  if (has_inexact_calls(linker))
    KDL_TRY(ir_module_run_passes(linker->module, linker->target.machine,
                                 KDL_UKERNEL_INLINE_PASSES "," KDL_UKERNEL_SIMPLIFY_PASSES,
                                 linker->request->caller));
  unsigned accuracy = LLVMGetMDKindIDInContext(context, "fpmath", 6);
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
      LLVMValueRef next;
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
        next = LLVMGetNextInstruction(i);
        KDL_TRY(keep_instruction(linker, &adds, f, i, accuracy));
      }
    }
  }
  return KDL_OK;
}
