/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/portable/form.h"

#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "support/base/text.h"

#include <llvm-c/DebugInfo.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "kdl.portable"
#define KERNEL_ATTRIBUTE "kdl.kernel"

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

bool ir_form_kernel_parse(kdl_string text, ir_form_kernel *out_kernel) {
  size_t at = 0;
  for (int i = 0; i < 6; ++i, ++at) {
    uint32_t *into = i < 3 ? &out_kernel->block[i] : &out_kernel->tile[i - 3];
    if (!kdl_text_parse_number(text, &at, into) || at >= text.length || text.data[at] != ',')
      return false;
  }
  uint32_t bound;
  out_kernel->bound = -1;
  if (kdl_text_is(kdl_text_substr(text, at), "-1"))
    return true;
  out_kernel->bound = kdl_text_parse_number(text, &at, &bound) && bound < 4096 ? (int)bound : -1;
  return at == text.length && out_kernel->bound >= 0;
}

void ir_form_kernel_of(LLVMValueRef function, ir_form_kernel *out_kernel) {
  LLVMAttributeRef found = LLVMGetStringAttributeAtIndex(
      function, IR_FUNCTION_ATTRIBUTES, KERNEL_ATTRIBUTE, sizeof KERNEL_ATTRIBUTE - 1);
  *out_kernel = (ir_form_kernel){.name = ir_value_name(function).data, .bound = -1};
  if (!found)
    return;
  kdl_string text;
  unsigned length;
  text.data = LLVMGetStringAttributeValue(found, &length);
  text.length = length;
  ir_form_kernel read = *out_kernel;
  if (ir_form_kernel_parse(text, &read))
    *out_kernel = read;
}

static kdl_status set_kernel(LLVMModuleRef module, const ir_form_kernel *kernel, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(module, kernel->name);
  char text[128];
  if (!function)
    return kdl_fail(KDL_BAD_FILE, "%s: found no kernel '%.128s', expected the IR to define it",
                    name, kernel->name);
  int length =
      snprintf(text, sizeof text,
               "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%d",
               kernel->block[0], kernel->block[1], kernel->block[2], kernel->tile[0],
               kernel->tile[1], kernel->tile[2], kernel->bound);
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateStringAttribute(LLVMGetModuleContext(module), KERNEL_ATTRIBUTE,
                                                    sizeof KERNEL_ATTRIBUTE - 1, text,
                                                    (unsigned)length));
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The mark                                                                                     */

static void set_mark(LLVMModuleRef module) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMMetadataRef version =
      LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), IR_FORM_VERSION, false));
  LLVMAddNamedMetadataOperand(
      module, MARK, LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, &version, 1)));
}

bool ir_form_is(LLVMModuleRef module) {
  return LLVMGetNamedMetadataNumOperands(module, MARK) > 0;
}

/* 0 where the mark is malformed. */
static unsigned long long mark_version(LLVMModuleRef module) {
  LLVMValueRef node, value;
  if (LLVMGetNamedMetadataNumOperands(module, MARK) != 1)
    return 0;
  LLVMGetNamedMetadataOperands(module, MARK, &node);
  if (LLVMGetMDNodeNumOperands(node) != 1)
    return 0;
  LLVMGetMDNodeOperands(node, &value);
  return value && LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

/* ------------------------------------------------------------------------------------------ */
/* Checking                                                                                     */

/* "FILE:LINE:COLUMN: " of an instruction with a line, then the function. */
static kdl_status refuse(const char *name, LLVMValueRef where, const char *problem,
                         const char *what) {
  char place[512] = "";
  unsigned length = 0, line = 0;
  LLVMValueRef function = where;
  if (LLVMIsAInstruction(where)) {
    function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(where));
    line = LLVMGetDebugLocLine(where);
  }
  const char *file = line ? LLVMGetDebugLocFilename(where, &length) : NULL;
  LLVMMetadataRef subprogram = LLVMIsAFunction(function) ? LLVMGetSubprogram(function) : NULL;
  if (file) {
    snprintf(place, sizeof place, "%.*s:%u:%u", (int)length, file, line,
             LLVMGetDebugLocColumn(where));
  } else if (subprogram) { /* of the function */
    file = LLVMDIFileGetFilename(LLVMDIScopeGetFile(subprogram), &length);
    snprintf(place, sizeof place, "%.*s:%u:1", (int)length, file,
             LLVMDISubprogramGetLine(subprogram));
  }
  return kdl_fail(KDL_BAD_FILE, "%s: '%.128s' %s%.128s, which a portable image cannot have",
                  file ? place : name, ir_value_name(function).data, problem, what);
}

static bool is_target_intrinsic(kdl_string name) {
  static const char *const families[] = {
      "nvvm", "amdgcn", "r600",    "x86",  "aarch64",   "arm",   "riscv", "spv", "dx",   "ppc",
      "s390", "wasm",   "hexagon", "mips", "loongarch", "xcore", "bpf",   "ve",  "nvgpu"};
  if (!kdl_text_starts(name, "llvm."))
    return false;
  kdl_string rest = kdl_text_substr(name, sizeof "llvm." - 1);
  kdl_string first = {rest.data, kdl_text_find(rest, 0, ".")};
  return first.length < rest.length && KDL_TEXT_AMONG(first, families);
}

/* What targets lay out in different ways: the sizes of pointers to group memory and the alignment
 * of large integers, as parts of a type. NULL if there is none. */
static const char *contested_part(LLVMTypeRef type, bool is_part) {
  const char *found = NULL;
  switch (LLVMGetTypeKind(type)) {
  case LLVMPointerTypeKind:
    return is_part && LLVMGetPointerAddressSpace(type) > IR_SPACE_GLOBAL
               ? "has a pointer to group memory in an array or a structure"
               : NULL;
  case LLVMIntegerTypeKind:
    return is_part && LLVMGetIntTypeWidth(type) > 64
               ? "has an integer of more than 64 bits in an array or a structure"
               : NULL;
  case LLVMArrayTypeKind:
  case LLVMVectorTypeKind:
    return contested_part(LLVMGetElementType(type), true);
  case LLVMStructTypeKind:
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type) && !found; ++i)
      found = contested_part(LLVMStructGetTypeAtIndex(type, i), true);
    return found;
  default:
    return NULL;
  }
}

/* Whether it is a pointer, or a vector of pointers, into an address space of a target. */
static bool is_foreign_pointer(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
    type = LLVMGetElementType(type);
  if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
    return false;
  unsigned space = LLVMGetPointerAddressSpace(type);
  return space != IR_SPACE_GENERIC && space != IR_SPACE_GLOBAL && space != IR_SPACE_GROUP &&
         space != IR_SPACE_CONSTANT;
}

/* Scopes have the names of targets; the form has the whole system alone. */
static unsigned scope_of(LLVMValueRef i, const char *name) {
  return LLVMGetSyncScopeID(LLVMGetTypeContext(LLVMTypeOf(i)), name, strlen(name));
}

static bool has_scope(LLVMValueRef i) {
  return LLVMIsAtomic(i) && LLVMGetAtomicSyncScopeID(i) != scope_of(i, "");
}

static kdl_status check_instruction(LLVMValueRef i, const char *name) {
  if (is_foreign_pointer(LLVMTypeOf(i)))
    return refuse(name, i, "has a pointer to an address space of a target", "");
  if (has_scope(i))
    return refuse(name, i, "has an atomic operation with a scope", "");
  if (LLVMIsACallInst(i)) {
    LLVMValueRef called = LLVMGetCalledValue(i);
    if (LLVMIsAInlineAsm(called))
      return refuse(name, i, "has inline assembly", "");
    if (LLVMIsAFunction(called) && is_target_intrinsic(ir_value_name(called)))
      return refuse(name, i, "calls ", ir_value_name(called).data);
  }
  LLVMTypeRef type = LLVMIsAAllocaInst(i)          ? LLVMGetAllocatedType(i)
                     : LLVMIsAGetElementPtrInst(i) ? LLVMGetGEPSourceElementType(i)
                                                   : LLVMTypeOf(i);
  if (LLVMIsAAllocaInst(i) && LLVMGetPointerAddressSpace(LLVMTypeOf(i)) != IR_SPACE_GENERIC)
    return refuse(name, i, "has a variable in another address space", "");
  const char *contested = contested_part(type, false);
  return contested && !LLVMIsAExtractValueInst(i) && !LLVMIsAAtomicCmpXchgInst(i)
             ? refuse(name, i, contested, "")
             : KDL_OK;
}

static kdl_status check_kernel(LLVMValueRef function, const char *name) {
  LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
      function, IR_FUNCTION_ATTRIBUTES, KERNEL_ATTRIBUTE, sizeof KERNEL_ATTRIBUTE - 1);
  ir_form_kernel read;
  unsigned length = 0;
  const char *text = attribute ? LLVMGetStringAttributeValue(attribute, &length) : NULL;
  if (text && !ir_form_kernel_parse((kdl_string){text, length}, &read))
    return refuse(name, function, "has a malformed attribute ", KERNEL_ATTRIBUTE);
  for (unsigned i = 0; i < LLVMCountParams(function); ++i) {
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(function, i)));
    if (kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind)
      return refuse(name, function, "takes a structure that is not 'byval'", "");
  }
  return KDL_OK;
}

static kdl_status check_function(LLVMValueRef function, const char *name) {
  static const char *const attributes[] = {"target-cpu", "target-features", "tune-cpu"};
  unsigned convention = LLVMGetFunctionCallConv(function);
  kdl_string symbol = ir_value_name(function);
  unsigned long version;
  char *end;
  if (convention != LLVMCCallConv && convention != LLVMFastCallConv && convention != IR_SPIR_KERNEL)
    return refuse(name, function, "has the calling convention of a target", "");
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
    if (LLVMGetStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, attributes[i],
                                      (unsigned)strlen(attributes[i])))
      return refuse(name, function, "has the attribute ", attributes[i]);
  }
  if (LLVMIsDeclaration(function) && kdl_text_starts(symbol, "kdl_p")) {
    version = strtoul(symbol.data + sizeof "kdl_p" - 1, &end, 10);
    if (*end == '_' && version > IR_FORM_VERSION)
      return kdl_fail(KDL_UNSUPPORTED,
                      "%s: needs '%.128s', a function of version %lu of portable images, expected "
                      "%d: use a newer kdl-ld",
                      name, symbol.data, version, IR_FORM_VERSION);
  }
  if (convention == IR_SPIR_KERNEL)
    KDL_TRY(check_kernel(function, name));
  for (unsigned i = 0; i < LLVMCountParams(function); ++i) {
    if (is_foreign_pointer(LLVMTypeOf(LLVMGetParam(function, i))))
      return refuse(name, function, "takes a pointer to an address space of a target", "");
  }
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      KDL_TRY(check_instruction(i, name));
  }
  return KDL_OK;
}

static kdl_status check_variable(LLVMValueRef variable, const char *name) {
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(variable));
  kdl_string symbol = ir_value_name(variable);
  LLVMValueRef initial = LLVMGetInitializer(variable);
  if (kdl_text_is(symbol, "llvm.global_ctors") || kdl_text_is(symbol, "llvm.global_dtors"))
    return refuse(name, variable, "runs code when it is loaded", "");
  if (LLVMIsThreadLocal(variable))
    return refuse(name, variable, "is thread-local", "");
  if (is_foreign_pointer(LLVMTypeOf(variable)))
    return refuse(name, variable, "is in an address space of a target", "");
  if (space == IR_SPACE_GROUP && initial && !LLVMIsUndef(initial))
    return refuse(name, variable, "is group memory with an initial value", "");
  if (kdl_text_is(symbol, "kdl_dynamic") && (initial || space != IR_SPACE_GROUP))
    return refuse(name, variable, "is not the group memory of the launch", "");
  const char *contested = contested_part(LLVMGlobalGetValueType(variable), false);
  return contested ? refuse(name, variable, contested, "") : KDL_OK;
}

kdl_status ir_form_check(LLVMModuleRef module, const char *name) {
  unsigned long long version = mark_version(module);
  size_t length = 0;
  if (version > IR_FORM_VERSION)
    return kdl_fail(KDL_UNSUPPORTED,
                    "%s: found version %llu of portable images, expected %d: use a newer kdl-ld",
                    name, version, IR_FORM_VERSION);
  if (version == 0)
    return kdl_fail(KDL_BAD_FILE, "%s: found a malformed mark '" MARK "', expected its version",
                    name);
  if (*LLVMGetTarget(module))
    return kdl_fail(KDL_BAD_FILE, "%s: found the triple '%.64s' in a portable image, expected none",
                    name, LLVMGetTarget(module));
  if (*LLVMGetDataLayoutStr(module))
    return kdl_fail(KDL_BAD_FILE,
                    "%s: found the data layout '%.64s' in a portable image, expected none", name,
                    LLVMGetDataLayoutStr(module));
  LLVMGetModuleInlineAsm(module, &length);
  if (length || LLVMGetFirstGlobalAlias(module) || LLVMGetFirstGlobalIFunc(module))
    return kdl_fail(KDL_BAD_FILE, "%s: found %s in a portable image, expected none", name,
                    length ? "assembly" : "an alias");
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    KDL_TRY(check_function(f, name));
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
    KDL_TRY(check_variable(v, name));
  return KDL_OK;
}

/* Notes which of half and double precision a type has. */
static void note_precision(LLVMTypeRef type, bool *has_half, bool *has_double) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMVectorTypeKind)
    kind = LLVMGetTypeKind(LLVMGetElementType(type));
  *has_half |= kind == LLVMHalfTypeKind;
  *has_double |= kind == LLVMDoubleTypeKind;
}

kdl_status ir_form_check_needs(LLVMModuleRef module, kdl_string needs, const char *name) {
  bool has_half = false, has_double = false;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        note_precision(LLVMTypeOf(i), &has_half, &has_double);
    }
  }
  if ((!has_half || kdl_text_contains(needs, "fp16")) &&
      (!has_double || kdl_text_contains(needs, "fp64")))
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE, "%s: " KDL_NEEDS_KEY "=%.*s, and the bitcode needs %s%s%s", name,
                  (int)needs.length, needs.data, has_half ? "fp16" : "",
                  has_half && has_double ? "+" : "", has_double ? "fp64" : "");
}

/* ------------------------------------------------------------------------------------------ */
/* Making                                                                                       */

/* From LLVM 23 on, Clang writes NVIDIA's scopes. The whole system includes each. */
static void widen_scope(LLVMValueRef i) {
  static const char *const scopes[] = {"singlethread", "block", "cluster", "device"};
  for (size_t s = 0; LLVMIsAtomic(i) && s < sizeof scopes / sizeof *scopes; ++s) {
    if (LLVMGetAtomicSyncScopeID(i) == scope_of(i, scopes[s]))
      LLVMSetAtomicSyncScopeID(i, scope_of(i, ""));
  }
}

static void neutralise(LLVMValueRef function) {
  static const char *const attributes[] = {"target-cpu", "target-features", "tune-cpu",
                                           "frame-pointer", "stack-protector-buffer-size"};
  if (LLVMGetFunctionCallConv(function) == IR_PTX_KERNEL)
    LLVMSetFunctionCallConv(function, IR_SPIR_KERNEL);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i)
    LLVMRemoveStringAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, attributes[i],
                                     (unsigned)strlen(attributes[i]));
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      widen_scope(i);
  }
}

kdl_status ir_form_make(LLVMModuleRef module, const ir_form_kernel *kernels, size_t count,
                        const char *name) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    neutralise(f);
  LLVMSetSourceFileName(module, MARK, sizeof MARK - 1); /* the same bytes in any folder */
  LLVMSetTarget(module, "");
  LLVMSetDataLayout(module, "");
  for (size_t i = 0; i < count; ++i)
    KDL_TRY(set_kernel(module, &kernels[i], name));
  set_mark(module);
  KDL_TRY(ir_form_check(module, name));
  LLVMStripModuleDebugInfo(module);
  return KDL_OK;
}
