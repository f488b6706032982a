/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/linker/fold.h"

#include "compiler/ir/linker/ukernel_passes.h"
#include "compiler/ir/llvm_versions.h"
#include "support/base/error.h"
#include "support/system/environment.h"

#include <kdl/host_abi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_arguments = 32, largest_alignment = 4096 };

typedef struct {
  unsigned index;
  unsigned size;  /* bytes of the value; 0: a pointer's alignment */
  uint64_t value; /* bits, or the alignment */
} folded_argument;

typedef struct {
  ir_linker *linker;
  LLVMContextRef context;
  LLVMValueRef kernel;
  folded_argument arguments[most_arguments];
  size_t count;
  uint32_t block[3]; /* 0: not folded */
} folding;

/* ------------------------------------------------------------------------------------------ */
/* The option                                                                                   */

static bool read_block(const char *text, uint32_t out_block[3]) {
  int end = 0;
  return sscanf(text, "block=%" SCNu32 "x%" SCNu32 "x%" SCNu32 "%n", &out_block[0], &out_block[1],
                &out_block[2], &end) == 3 &&
         !text[end] && out_block[0] && out_block[1] && out_block[2];
}

/* "3=0x0000002a", whose digits are the size of the argument. */
static bool read_value(const char *text, folded_argument *out_argument) {
  int start = 0;
  char *end;
  if (sscanf(text, "%u=0x%n", &out_argument->index, &start) != 1 || !start)
    return false;
  size_t digits = strspn(text + start, "0123456789abcdef");
  out_argument->size = (unsigned)(digits / 2);
  out_argument->value = strtoull(text + start, &end, 16);
  return !*end && digits <= 16 && digits % 2 == 0 && digits;
}

/* "2=align16" */
static bool read_alignment(const char *text, folded_argument *out_argument) {
  int end = 0;
  *out_argument = (folded_argument){.size = 0};
  bool is_read =
      sscanf(text, "%u=align%" SCNu64 "%n", &out_argument->index, &out_argument->value, &end) == 2;
  uint64_t align = out_argument->value;
  return is_read && !text[end] && align && align <= largest_alignment && !(align & (align - 1));
}

static kdl_status read_folds(const kdl_string_list *given, folding *f) {
  for (size_t i = 0; i < given->count; ++i) {
    const char *text = given->items[i];
    if (read_block(text, f->block))
      continue;
    if (f->count == most_arguments || (!read_value(text, &f->arguments[f->count]) &&
                                       !read_alignment(text, &f->arguments[f->count])))
      return kdl_fail(KDL_BAD_CALL,
                      "--fold: bad value '%s': use block=XxYxZ, NUMBER=0xBITS or NUMBER=alignBYTES",
                      text);
    ++f->count;
  }
  return KDL_OK;
}

static kdl_status fail_argument(const folding *f, const folded_argument *argument,
                                const char *problem) {
  return kdl_fail(KDL_BAD_CALL, "--fold: '%.128s' of %s: argument %u %s",
                  ir_value_name(f->kernel).data, f->linker->request->caller, argument->index,
                  problem);
}

/* ------------------------------------------------------------------------------------------ */
/* GPUs: the kernel has the parameters itself                                                   */

static LLVMValueRef constant_of(LLVMTypeRef type, unsigned size, uint64_t bits) {
  LLVMTypeRef integer = LLVMIntTypeInContext(LLVMGetTypeContext(type), size * 8);
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind:
    if (LLVMGetIntTypeWidth(type) == 1 && size == 1) /* bool */
      return LLVMConstInt(type, bits & 1, 0);
    return LLVMGetIntTypeWidth(type) == size * 8 ? LLVMConstInt(type, bits, 0) : NULL;
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind:
    return size == 2 ? LLVMConstBitCast(LLVMConstInt(integer, bits, 0), type) : NULL;
  case LLVMFloatTypeKind:
    return size == 4 ? LLVMConstBitCast(LLVMConstInt(integer, bits, 0), type) : NULL;
  case LLVMDoubleTypeKind:
    return size == 8 ? LLVMConstBitCast(LLVMConstInt(integer, bits, 0), type) : NULL;
  default:
    return NULL;
  }
}

static kdl_status fold_parameter(const folding *f, const folded_argument *argument) {
  if (argument->index >= LLVMCountParams(f->kernel))
    return fail_argument(f, argument, "is beyond its parameters");
  LLVMValueRef parameter = LLVMGetParam(f->kernel, argument->index);
  LLVMTypeRef type = LLVMTypeOf(parameter);
  if (!argument->size) {
    if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
      return fail_argument(f, argument, "is no pointer");
    LLVMSetParamAlignment(parameter, (unsigned)argument->value);
    return KDL_OK;
  }
  LLVMValueRef value = constant_of(type, argument->size, argument->value);
  if (!value)
    return fail_argument(f, argument, "has another type");
  LLVMReplaceAllUsesWith(parameter, value);
  return KDL_OK;
}

static void set_text(const folding *f, const char *key, const char *value) {
  LLVMAddAttributeAtIndex(f->kernel, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateStringAttribute(f->context, key, (unsigned)strlen(key), value,
                                                    (unsigned)strlen(value)));
}

static void replace_calls(LLVMModuleRef module, const char *name, uint64_t value) {
  LLVMValueRef function = LLVMGetNamedFunction(module, name);
  LLVMUseRef next;
  for (LLVMUseRef use = function ? LLVMGetFirstUse(function) : NULL; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef call = LLVMGetUser(use);
    LLVMReplaceAllUsesWith(call, LLVMConstInt(LLVMTypeOf(call), value, 0));
    LLVMInstructionEraseFromParent(call);
  }
}

/* PTX has either bound. */
static void set_block_nvidia(const folding *f) {
  static const char most[] = "nvvm.maxntid";
  static const char *const reads[] = {"llvm.nvvm.read.ptx.sreg.ntid.x",
                                      "llvm.nvvm.read.ptx.sreg.ntid.y",
                                      "llvm.nvvm.read.ptx.sreg.ntid.z"};
  char text[48];
  snprintf(text, sizeof text, "%u,%u,%u", f->block[0], f->block[1], f->block[2]);
  set_text(f, "nvvm.reqntid", text);
  LLVMRemoveStringAttributeAtIndex(f->kernel, IR_FUNCTION_ATTRIBUTES, most, sizeof most - 1);
  for (int i = 0; i < 3; ++i)
    replace_calls(f->linker->module, reads[i], f->block[i]);
}

/* LLVM replaces reads of the block by what the metadata has. */
static void set_block_metadata(const folding *f) {
  static const char name[] = "reqd_work_group_size";
  LLVMMetadataRef numbers[3];
  for (int i = 0; i < 3; ++i)
    numbers[i] =
        LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(f->context), f->block[i], 0));
  LLVMGlobalSetMetadata(f->kernel,
                        LLVMGetMDKindIDInContext(f->context, name, (unsigned)sizeof name - 1),
                        LLVMMDNodeInContext2(f->context, numbers, 3));
}

/* A launch of libkdl has whole blocks only. Unless Clang is told so, from 23 on it compares the
 * block's index with their number, and reads the size of the last, incomplete one: the comparison
 * has to be gone when LLVM replaces reads of the block, as it does once in its pipeline. */
static kdl_status set_block_amd(const folding *f) {
  static const char comparisons[] =
      KDL_UKERNEL_INLINE_PASSES ",function(amdgpu-lower-kernel-attributes,instsimplify)";
  char text[48];
  uint64_t items = (uint64_t)f->block[0] * f->block[1] * f->block[2];
  snprintf(text, sizeof text, "%" PRIu64 ",%" PRIu64, items, items);
  set_block_metadata(f);
  set_text(f, "amdgpu-flat-work-group-size", text);
  set_text(f, "uniform-work-group-size", "true");
  return ir_module_run_passes(f->linker->module, f->linker->target.machine, comparisons,
                              f->linker->request->caller);
}

/* Drivers that compile SPIR-V evaluate functions of constants with roundings of their own. */
static bool is_left_to_driver(const folding *f, const folded_argument *argument) {
  LLVMTypeKind kind = argument->index < LLVMCountParams(f->kernel)
                          ? LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(f->kernel, argument->index)))
                          : LLVMIntegerTypeKind;
  return f->linker->target.family == KDL_FAMILY_SPIRV && kind != LLVMIntegerTypeKind &&
         kind != LLVMPointerTypeKind;
}

static kdl_status fold_gpu(const folding *f) {
  for (size_t i = 0; i < f->count; ++i) {
    if (!is_left_to_driver(f, &f->arguments[i]))
      KDL_TRY(fold_parameter(f, &f->arguments[i]));
  }
  if (!f->block[0])
    return KDL_OK;
  if (f->linker->target.family == KDL_FAMILY_AMDGCN)
    return set_block_amd(f);
  if (f->linker->target.family == KDL_FAMILY_NVPTX)
    set_block_nvidia(f);
  else
    set_block_metadata(f);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* CPUs: the function of a group gets its arguments by pointers (<kdl/host_abi.h>)              */

/*
 * The kernel is inlined into a function of its name and type, which passes copies of the group and
 * of the pointers to arguments with constants in them. LLVM then propagates the constants.
 */
enum { group_members = 8, member_size = 0, member_block = 3 };

static LLVMTypeRef group_type(const folding *f) {
  LLVMTypeRef number = LLVMInt32TypeInContext(f->context);
  LLVMTypeRef three = LLVMArrayType2(number, 3);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(f->context, 0);
  LLVMTypeRef members[group_members] = {number, three,  three,   three,
                                        three,  number, pointer, pointer};
  return LLVMStructTypeInContext(f->context, members, group_members, 0);
}

/* kdl_host_kernel.param_count in the kernel's descriptor. */
static bool read_param_count(const folding *f, unsigned *out_count) {
  enum { member_param_count = 6 };
  char name[512];
  snprintf(name, sizeof name, "kdl_host_kernel_%.400s", ir_value_name(f->kernel).data);
  LLVMValueRef record = LLVMGetNamedGlobal(f->linker->module, name);
  LLVMValueRef initial = record ? LLVMGetInitializer(record) : NULL;
  LLVMValueRef count = initial && LLVMIsAConstantStruct(initial)
                           ? LLVMGetOperand(initial, member_param_count)
                           : NULL;
  if (!count || !LLVMIsAConstantInt(count))
    return false;
  *out_count = (unsigned)LLVMConstIntGetZExtValue(count);
  return true;
}

static LLVMValueRef copy_group(const folding *f, LLVMBuilderRef builder, LLVMValueRef given) {
  LLVMTypeRef number = LLVMInt32TypeInContext(f->context), type = group_type(f);
  if (!f->block[0])
    return given;
  LLVMValueRef copy = LLVMBuildAlloca(builder, type, "");
  LLVMSetAlignment(copy, _Alignof(kdl_host_group));
  for (unsigned i = 0; i < group_members; ++i) {
    LLVMTypeRef member = LLVMStructGetTypeAtIndex(type, i);
    LLVMValueRef value;
    if (i == member_size) {
      value = LLVMConstInt(number, sizeof(kdl_host_group), 0);
    } else if (i == member_block) {
      LLVMValueRef block[3];
      for (int d = 0; d < 3; ++d)
        block[d] = LLVMConstInt(number, f->block[d], 0);
      value = LLVMConstArray2(number, block, 3);
    } else {
      value = LLVMBuildLoad2(builder, member, LLVMBuildStructGEP2(builder, type, given, i, ""), "");
    }
    LLVMBuildStore(builder, value, LLVMBuildStructGEP2(builder, type, copy, i, ""));
  }
  return copy;
}

static LLVMValueRef constant_place(const folding *f, const folded_argument *argument) {
  LLVMTypeRef type = LLVMIntTypeInContext(f->context, argument->size * 8);
  LLVMValueRef place = LLVMAddGlobal(f->linker->module, type, "kdl.folded");
  LLVMSetInitializer(place, LLVMConstInt(type, argument->value, 0));
  LLVMSetGlobalConstant(place, 1);
  LLVMSetLinkage(place, LLVMPrivateLinkage);
  LLVMSetAlignment(place, argument->size);
  return place;
}

static LLVMValueRef copy_arguments(const folding *f, LLVMBuilderRef builder, LLVMValueRef given,
                                   unsigned count) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(f->context, 0);
  LLVMTypeRef type = LLVMArrayType2(pointer, count);
  LLVMValueRef copy = LLVMBuildAlloca(builder, type, "");
  for (unsigned i = 0; i < count; ++i) {
    LLVMValueRef index = LLVMConstInt(LLVMInt32TypeInContext(f->context), i, 0);
    LLVMValueRef value = NULL;
    for (size_t a = 0; a < f->count; ++a) {
      if (f->arguments[a].index == i && f->arguments[a].size)
        value = constant_place(f, &f->arguments[a]);
    }
    if (!value)
      value = LLVMBuildLoad2(builder, pointer,
                             LLVMBuildInBoundsGEP2(builder, pointer, given, &index, 1, ""), "");
    LLVMBuildStore(builder, value, LLVMBuildInBoundsGEP2(builder, pointer, copy, &index, 1, ""));
  }
  return copy;
}

static unsigned attribute_kind(const char *name) {
  return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static LLVMValueRef wrap_kernel(folding *f) {
  static const char *const hindering[] = {"noinline", "optnone"};
  LLVMValueRef general = f->kernel;
  LLVMValueRef made = LLVMAddFunction(f->linker->module, "", LLVMGlobalGetValueType(general));
  char name[512];
  snprintf(name, sizeof name, "%.500s", ir_value_name(general).data);
  for (size_t i = 0; i < sizeof hindering / sizeof *hindering; ++i)
    LLVMRemoveEnumAttributeAtIndex(general, IR_FUNCTION_ATTRIBUTES, attribute_kind(hindering[i]));
  ir_copy_attributes(general, made, IR_FUNCTION_ATTRIBUTES);
  LLVMSetLinkage(made, LLVMGetLinkage(general));
  LLVMSetVisibility(made, LLVMGetVisibility(general));
  LLVMReplaceAllUsesWith(general, made);
  LLVMSetValueName2(general, "kdl.general", strlen("kdl.general"));
  LLVMSetValueName2(made, name, strlen(name));
  LLVMSetVisibility(general, LLVMDefaultVisibility);
  LLVMSetLinkage(general, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(general, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateEnumAttribute(f->context, attribute_kind("alwaysinline"), 0));
  f->kernel = made;
  return general;
}

static kdl_status fold_host(folding *f) {
  unsigned count;
  if (LLVMCountParams(f->kernel) != 2 || !read_param_count(f, &count))
    return kdl_fail(KDL_UNSUPPORTED, "--fold: '%.128s' of %s is no kernel of <kdl/host_abi.h>",
                    ir_value_name(f->kernel).data, f->linker->request->caller);
  for (size_t i = 0; i < f->count; ++i) {
    if (f->arguments[i].index >= count)
      return fail_argument(f, &f->arguments[i], "is beyond its parameters");
  }
  LLVMValueRef general = wrap_kernel(f);
  LLVMBuilderRef builder = ir_create_builder(f->linker->module);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(f->context, f->kernel, ""));
  LLVMValueRef passed[2] = {copy_group(f, builder, LLVMGetParam(f->kernel, 0)), NULL};
  passed[1] = copy_arguments(f, builder, LLVMGetParam(f->kernel, 1), count);
  LLVMBuildCall2(builder, LLVMGlobalGetValueType(general), general, passed, 2, "");
  LLVMBuildRetVoid(builder);
  LLVMDisposeBuilder(builder);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

/* The image would have its own copy of a variable that other launches, or the program, use too.
 * Group memory is of each launch. */
static kdl_status refuse_variables(const ir_linker *linker) {
  enum { shared_space = 3 };
  /* Those that are never written become constants. */
  KDL_TRY(ir_module_run_passes(linker->module, NULL, "globalopt", linker->request->caller));
  for (LLVMValueRef v = LLVMGetFirstGlobal(linker->module); v; v = LLVMGetNextGlobal(v)) {
    bool is_group = LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == shared_space;
    bool is_fixed = LLVMIsGlobalConstant(v) && !LLVMIsExternallyInitialized(v);
    if (!is_group && !is_fixed && !LLVMIsThreadLocal(v) && LLVMGetFirstUse(v))
      return kdl_fail(KDL_UNSUPPORTED,
                      "%s: the variable '%.128s' would have a copy in the specialized image",
                      linker->request->caller, ir_value_name(v).data);
  }
  return KDL_OK;
}

kdl_status ir_fold(ir_linker *linker) {
  const kdl_string_list *given = &linker->request->folds;
  folding f = {.linker = linker, .context = LLVMGetModuleContext(linker->module)};
  if (!given->count)
    return KDL_OK;
  KDL_TRY(read_folds(given, &f));
  if (linker->kernels.count != 1)
    return kdl_fail(KDL_BAD_CALL, "--fold: found %zu kernels, expected one: use --kernel",
                    linker->kernels.count);
  f.kernel = LLVMGetNamedFunction(linker->module, linker->kernels.items[0]);
  KDL_TRY(refuse_variables(linker));
  KDL_TRY(ir_exact_math_keep(linker));
  kdl_target_family family = linker->target.family;
  bool is_gpu =
      family == KDL_FAMILY_NVPTX || family == KDL_FAMILY_AMDGCN || family == KDL_FAMILY_SPIRV;
  KDL_TRY(is_gpu ? fold_gpu(&f) : fold_host(&f));
  for (size_t i = 0; i < given->count; ++i)
    kdl_debug(KDL_DEBUG_LINK, "folded %s", given->items[i]);
  return KDL_OK;
}
