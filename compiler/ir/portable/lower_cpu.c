/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For CPUs: a kernel that runs one work-item becomes one that runs a group, with the descriptor
 * that <kdl/host_abi.h> asks for, as `kdl cc` writes them in C (cc/source/wrapper.c). Kernels with
 * barriers are then split at them (compiler/ir/groups).
 */
#include "compiler/ir/groups/flow.h"
#include "compiler/ir/groups/groups.h"
#include "compiler/ir/llvm_versions.h"
#include "compiler/ir/portable/form.h"
#include "compiler/ir/portable/lower.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <kdl/host_abi.h>

#include <stdio.h>
#include <string.h>

/* The members of kdl_host_group. */
enum {
  GROUP_GROUP = 1,
  GROUP_COUNT,
  GROUP_BLOCK,
  GROUP_SHARED_SIZE = 5,
  GROUP_SHARED,
  GROUP_ERROR
};
/* Those of the work-item. */
enum { ITEM_GROUP, ITEM_GROUP_COUNT, ITEM_BLOCK, ITEM_THREAD, ITEM_DYNAMIC };

typedef struct {
  ir_linker *linker;
  const ir_group_state *state;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetDataRef layout;
  LLVMBuilderRef builder;
  LLVMTypeRef number, pointer, group_type;
  LLVMValueRef item; /* the function of one work-item */
  ir_form_kernel kernel;
  bool waits;
  LLVMValueRef group, arguments; /* parameters of the function that is made */
  LLVMValueRef *places;          /* of the group's variables in it */
} wrapper;

/* ------------------------------------------------------------------------------------------ */
/* Helpers                                                                                      */

static LLVMValueRef constant(const wrapper *w, uint64_t value) {
  return LLVMConstInt(w->number, value, false);
}

static LLVMValueRef member(const wrapper *w, LLVMTypeRef type, LLVMValueRef base, unsigned index,
                           int element) {
  LLVMValueRef path[] = {constant(w, 0), constant(w, index),
                         constant(w, element < 0 ? 0 : (unsigned)element)};
  return LLVMBuildInBoundsGEP2(w->builder, type, base, path, element < 0 ? 2 : 3, "");
}

static LLVMValueRef load_group(const wrapper *w, unsigned index, int element) {
  return LLVMBuildLoad2(w->builder, w->number, member(w, w->group_type, w->group, index, element),
                        "");
}

static void store_item(const wrapper *w, unsigned index, int element, LLVMValueRef value) {
  LLVMBuildStore(w->builder, value, member(w, w->state->item_type, w->places[0], index, element));
}

static void add_attribute(LLVMValueRef function, const char *name) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                          LLVMCreateEnumAttribute(context, kind, 0));
}

static LLVMTypeRef byval_type(LLVMValueRef function, unsigned parameter) {
  LLVMAttributeRef found = LLVMGetEnumAttributeAtIndex(function, parameter + 1,
                                                       LLVMGetEnumAttributeKindForName("byval", 5));
  return found ? LLVMGetTypeAttributeValue(found) : NULL;
}

static unsigned align_of_parameter(const wrapper *w, unsigned parameter) {
  LLVMTypeRef by_value = byval_type(w->item, parameter);
  LLVMAttributeRef found = LLVMGetEnumAttributeAtIndex(w->item, parameter + 1,
                                                       LLVMGetEnumAttributeKindForName("align", 5));
  if (by_value && found)
    return (unsigned)LLVMGetEnumAttributeValue(found);
  return LLVMABIAlignmentOfType(w->layout,
                                by_value ? by_value : LLVMTypeOf(LLVMGetParam(w->item, parameter)));
}

/* bool is a byte in memory. */
static LLVMTypeRef memory_type(const wrapper *w, LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1
             ? LLVMInt8TypeInContext(w->context)
             : type;
}

/* ------------------------------------------------------------------------------------------ */
/* The function of a group                                                                      */

/* The parameters that the kernel has itself. */
static unsigned own_parameters(const wrapper *w) {
  unsigned count = LLVMCountParams(w->item);
  while (count > 0 && ir_group_state_parameter(w->state, LLVMGetParam(w->item, count - 1)) >= 0)
    --count;
  return count;
}

static bool needs_variable(const wrapper *w, size_t variable) {
  for (unsigned i = own_parameters(w); i < LLVMCountParams(w->item); ++i) {
    if (ir_group_state_parameter(w->state, LLVMGetParam(w->item, i)) == (int)variable)
      return true;
  }
  return false;
}

static void allocate_variables(wrapper *w) {
  for (size_t v = 0; v < w->state->variable_count; ++v) {
    unsigned align;
    LLVMTypeRef type = ir_group_state_type(w->state, v, &align);
    char name[512];
    w->places[v] = NULL;
    if (v > 0 && !needs_variable(w, v))
      continue;
    snprintf(name, sizeof name, "%s",
             v ? ir_value_name(w->state->variables[v]).data : IR_GROUP_PREFIX "kdl_item");
    w->places[v] = LLVMBuildAlloca(w->builder, type, name);
    LLVMSetAlignment(w->places[v], align ? align : 16);
  }
}

static LLVMValueRef load_argument(const wrapper *w, unsigned parameter) {
  LLVMValueRef index = constant(w, parameter);
  LLVMValueRef place = LLVMBuildLoad2(
      w->builder, w->pointer,
      LLVMBuildInBoundsGEP2(w->builder, w->pointer, w->arguments, &index, 1, ""), "");
  LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(w->item, parameter));
  if (byval_type(w->item, parameter))
    return place; /* the call copies it */
  LLVMValueRef value = LLVMBuildLoad2(w->builder, memory_type(w, type), place, "");
  LLVMSetAlignment(value, align_of_parameter(w, parameter));
  return memory_type(w, type) == type ? value : LLVMBuildTrunc(w->builder, value, type, "");
}

static void copy_parameter_attributes(const wrapper *w, LLVMValueRef call, unsigned count) {
  for (unsigned i = 1; i <= count; ++i) {
    LLVMAttributeRef attributes[64];
    unsigned have = LLVMGetAttributeCountAtIndex(w->item, i);
    if (have > 64)
      continue;
    LLVMGetAttributesAtIndex(w->item, i, attributes);
    for (unsigned k = 0; k < have; ++k)
      LLVMAddCallSiteAttribute(call, i, attributes[k]);
  }
}

static void call_item(const wrapper *w, LLVMValueRef *arguments, unsigned own) {
  unsigned count = own;
  for (; count < LLVMCountParams(w->item); ++count)
    arguments[count] = w->places[ir_group_state_parameter(w->state, LLVMGetParam(w->item, count))];
  LLVMValueRef call =
      LLVMBuildCall2(w->builder, LLVMGlobalGetValueType(w->item), w->item, arguments, count, "");
  copy_parameter_attributes(w, call, own);
}

/* On all groups but the last, the check of each work-item is known to hold. */
static void assume_bound(const wrapper *w, LLVMValueRef bound, LLVMValueRef index) {
  LLVMValueRef position = LLVMBuildAdd(
      w->builder,
      LLVMBuildMul(w->builder, load_group(w, GROUP_GROUP, 0), constant(w, w->kernel.block[0]), ""),
      index, "");
  LLVMValueRef holds = LLVMBuildICmp(w->builder, LLVMIntULT, position, bound, "");
  unsigned id = LLVMLookupIntrinsicID("llvm.assume", sizeof "llvm.assume" - 1);
  LLVMValueRef assume = LLVMGetIntrinsicDeclaration(w->module, id, NULL, 0);
  LLVMBuildCall2(w->builder, LLVMGlobalGetValueType(assume), assume, &holds, 1, "");
}

/* Loops over the block around a call of the kernel. Ends in a new block. */
static void build_loops(const wrapper *w, LLVMValueRef function, LLVMValueRef *arguments,
                        unsigned own, LLVMValueRef bound) {
  LLVMBasicBlockRef heads[3], ends[3];
  LLVMValueRef counters[3];
  for (int d = 0; d < 3; ++d) {
    counters[d] = LLVMBuildAlloca(w->builder, w->number, "");
    store_item(w, ITEM_BLOCK, d,
               w->kernel.block[d] ? constant(w, w->kernel.block[d])
                                  : load_group(w, GROUP_BLOCK, d));
  }
  for (int d = 2; d >= 0; --d) {
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(w->context, function, "");
    heads[d] = LLVMAppendBasicBlockInContext(w->context, function, "");
    ends[d] = LLVMAppendBasicBlockInContext(w->context, function, "");
    LLVMBuildStore(w->builder, constant(w, 0), counters[d]);
    LLVMBuildBr(w->builder, heads[d]);
    LLVMPositionBuilderAtEnd(w->builder, heads[d]);
    LLVMValueRef index = LLVMBuildLoad2(w->builder, w->number, counters[d], "");
    LLVMValueRef length =
        w->kernel.block[d] ? constant(w, w->kernel.block[d]) : load_group(w, GROUP_BLOCK, d);
    LLVMBuildCondBr(w->builder, LLVMBuildICmp(w->builder, LLVMIntULT, index, length, ""), body,
                    ends[d]);
    LLVMPositionBuilderAtEnd(w->builder, body);
    store_item(w, ITEM_THREAD, d, LLVMBuildLoad2(w->builder, w->number, counters[d], ""));
  }
  if (bound)
    assume_bound(w, bound, LLVMBuildLoad2(w->builder, w->number, counters[0], ""));
  call_item(w, arguments, own);
  for (int d = 0; d < 3; ++d) {
    LLVMValueRef next = LLVMBuildAdd(
        w->builder, LLVMBuildLoad2(w->builder, w->number, counters[d], ""), constant(w, 1), "");
    LLVMBuildStore(w->builder, next, counters[d]);
    LLVMBuildBr(w->builder, heads[d]);
    LLVMPositionBuilderAtEnd(w->builder, ends[d]);
  }
}

/* One work-item, whose loops compiler/ir/groups makes. */
static void build_single_item(const wrapper *w, LLVMValueRef *arguments, unsigned own) {
  LLVMTypeRef type = LLVMFunctionType(w->number, (LLVMTypeRef[]){w->number}, 1, false);
  LLVMValueRef thread = LLVMGetNamedFunction(w->module, IR_GROUPS_THREAD);
  if (!thread)
    thread = LLVMAddFunction(w->module, IR_GROUPS_THREAD, type);
  for (int d = 2; d >= 0; --d) {
    LLVMValueRef dim = constant(w, (unsigned)d);
    store_item(w, ITEM_BLOCK, d,
               w->kernel.block[d] ? constant(w, w->kernel.block[d])
                                  : load_group(w, GROUP_BLOCK, d));
    store_item(w, ITEM_THREAD, d, LLVMBuildCall2(w->builder, type, thread, &dim, 1, ""));
  }
  call_item(w, arguments, own);
}

/* A launch without dynamic group memory fails with a message, where the kernel has some. */
static void build_dynamic_check(const wrapper *w, LLVMValueRef function) {
  char text[512];
  LLVMBasicBlockRef fails = LLVMAppendBasicBlockInContext(w->context, function, "");
  LLVMBasicBlockRef runs = LLVMAppendBasicBlockInContext(w->context, function, "");
  LLVMValueRef size = load_group(w, GROUP_SHARED_SIZE, -1);
  LLVMBuildCondBr(w->builder, LLVMBuildICmp(w->builder, LLVMIntEQ, size, constant(w, 0), ""), fails,
                  runs);
  LLVMPositionBuilderAtEnd(w->builder, fails);
  snprintf(
      text, sizeof text,
      "kernel %.128s has dynamic group memory (KDL_LOCAL_DYNAMIC): found a launch without any, "
      "expected KDL_DYNAMIC, kdl_launch_desc.shared or kdl run --shared=BYTES",
      w->kernel.name);
  LLVMValueRef into = LLVMBuildLoad2(w->builder, w->pointer,
                                     member(w, w->group_type, w->group, GROUP_ERROR, -1), "");
  LLVMValueRef store =
      LLVMBuildStore(w->builder, LLVMBuildGlobalString(w->builder, text, ""), into);
  LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(store, 8);
  LLVMBuildRetVoid(w->builder);
  LLVMPositionBuilderAtEnd(w->builder, runs);
}

static LLVMValueRef add_group_function(const wrapper *w, const char *name) {
  LLVMTypeRef types[] = {w->pointer, w->pointer};
  LLVMValueRef function = LLVMAddFunction(
      w->module, name, LLVMFunctionType(LLVMVoidTypeInContext(w->context), types, 2, false));
  static const char *const copied[] = {"no-builtins", "no-trapping-math", "no-infs-fp-math",
                                       "no-nans-fp-math"};
  add_attribute(function, "nounwind");
  for (size_t i = 0; i < sizeof copied / sizeof *copied; ++i) {
    LLVMAttributeRef found = LLVMGetStringAttributeAtIndex(w->item, IR_FUNCTION_ATTRIBUTES,
                                                           copied[i], (unsigned)strlen(copied[i]));
    if (found)
      LLVMAddAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES, found);
  }
  return function;
}

/* `is_whole`: the bound holds for all work-items. */
static void build_body(wrapper *w, LLVMValueRef function, bool uses_dynamic, bool is_whole) {
  unsigned own = own_parameters(w);
  LLVMValueRef *arguments =
      xarena_alloc(w->state->arena, (LLVMCountParams(w->item) + 1) * sizeof *arguments);
  w->group = LLVMGetParam(function, 0);
  w->arguments = LLVMGetParam(function, 1);
  LLVMPositionBuilderAtEnd(w->builder, LLVMAppendBasicBlockInContext(w->context, function, ""));
  allocate_variables(w);
  if (uses_dynamic)
    build_dynamic_check(w, function);
  for (unsigned i = 0; i < own; ++i)
    arguments[i] = load_argument(w, i);
  for (int d = 0; d < 3; ++d) {
    store_item(w, ITEM_GROUP, d, load_group(w, GROUP_GROUP, d));
    store_item(w, ITEM_GROUP_COUNT, d, load_group(w, GROUP_COUNT, d));
  }
  store_item(w, ITEM_DYNAMIC, -1,
             LLVMBuildLoad2(w->builder, w->pointer,
                            member(w, w->group_type, w->group, GROUP_SHARED, -1), ""));
  if (w->waits)
    build_single_item(w, arguments, own);
  else
    build_loops(w, function, arguments, own, is_whole ? arguments[w->kernel.bound] : NULL);
  LLVMBuildRetVoid(w->builder);
}

/* Chooses between the functions for groups below the bound and for others. */
static void build_choice(wrapper *w, LLVMValueRef function, LLVMValueRef whole, LLVMValueRef any) {
  LLVMTypeRef wide = LLVMInt64TypeInContext(w->context);
  LLVMTypeRef type = LLVMGlobalGetValueType(function);
  w->group = LLVMGetParam(function, 0);
  w->arguments = LLVMGetParam(function, 1);
  LLVMValueRef passed[] = {w->group, w->arguments};
  LLVMPositionBuilderAtEnd(w->builder, LLVMAppendBasicBlockInContext(w->context, function, ""));
  LLVMValueRef next =
      LLVMBuildAdd(w->builder, LLVMBuildZExt(w->builder, load_group(w, GROUP_GROUP, 0), wide, ""),
                   LLVMConstInt(wide, 1, false), "");
  LLVMValueRef end =
      LLVMBuildMul(w->builder, next, LLVMConstInt(wide, w->kernel.block[0], false), "");
  LLVMValueRef bound =
      LLVMBuildZExt(w->builder, load_argument(w, (unsigned)w->kernel.bound), wide, "");
  LLVMBasicBlockRef blocks[2];
  for (int i = 0; i < 2; ++i)
    blocks[i] = LLVMAppendBasicBlockInContext(w->context, function, "");
  LLVMBuildCondBr(w->builder, LLVMBuildICmp(w->builder, LLVMIntULE, end, bound, ""), blocks[0],
                  blocks[1]);
  for (int i = 0; i < 2; ++i) {
    LLVMPositionBuilderAtEnd(w->builder, blocks[i]);
    LLVMBuildCall2(w->builder, type, i ? any : whole, passed, 2, "");
    LLVMBuildRetVoid(w->builder);
  }
}

static bool has_bound(const wrapper *w) {
  return w->kernel.bound >= 0 && !w->waits && w->kernel.block[0] > 0 &&
         (unsigned)w->kernel.bound < own_parameters(w) &&
         LLVMTypeOf(LLVMGetParam(w->item, (unsigned)w->kernel.bound)) == w->number;
}

static LLVMValueRef build_group_function(wrapper *w, bool uses_dynamic) {
  LLVMValueRef function = add_group_function(w, w->kernel.name);
  if (!has_bound(w)) {
    build_body(w, function, uses_dynamic, false);
    return function;
  }
  LLVMValueRef parts[2];
  for (int i = 0; i < 2; ++i) {
    parts[i] = add_group_function(w, "kdl.items");
    LLVMSetLinkage(parts[i], LLVMInternalLinkage);
    build_body(w, parts[i], uses_dynamic, i == 0);
  }
  build_choice(w, function, parts[0], parts[1]);
  return function;
}

/* ------------------------------------------------------------------------------------------ */
/* The descriptor                                                                               */

static LLVMValueRef extent(const wrapper *w, const uint32_t *values) {
  LLVMValueRef numbers[] = {constant(w, values[0]), constant(w, values[1]), constant(w, values[2])};
  return LLVMConstArray2(w->number, numbers, 3);
}

static LLVMValueRef build_parameters(const wrapper *w) {
  unsigned own = own_parameters(w);
  LLVMTypeRef pair_types[] = {w->number, w->number};
  LLVMTypeRef pair = LLVMStructTypeInContext(w->context, pair_types, 2, false);
  LLVMValueRef *rows = xarena_alloc(w->state->arena, (own + 1) * sizeof *rows);
  for (unsigned i = 0; i <= own; ++i) {
    LLVMTypeRef type = i < own ? byval_type(w->item, i) : NULL;
    if (i < own && !type)
      type = memory_type(w, LLVMTypeOf(LLVMGetParam(w->item, i)));
    LLVMValueRef values[] = {constant(w, i < own ? LLVMABISizeOfType(w->layout, type) : 0),
                             constant(w, i < own ? align_of_parameter(w, i) : 0)};
    rows[i] = LLVMConstStructInContext(w->context, values, 2, false);
  }
  LLVMValueRef array = LLVMConstArray2(pair, rows, own + 1);
  LLVMValueRef global = LLVMAddGlobal(w->module, LLVMTypeOf(array), "kdl.params");
  LLVMSetInitializer(global, array);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMInternalLinkage);
  return global;
}

static void build_descriptor(const wrapper *w, LLVMValueRef function) {
  char name[512];
  LLVMValueRef values[] = {constant(w, KDL_HOST_ABI),
                           constant(w, sizeof(kdl_host_kernel)),
                           function,
                           extent(w, w->kernel.block),
                           extent(w, w->kernel.tile),
                           constant(w, 0),
                           constant(w, own_parameters(w)),
                           build_parameters(w)};
  LLVMValueRef record =
      LLVMConstStructInContext(w->context, values, sizeof values / sizeof *values, false);
  snprintf(name, sizeof name, "kdl_host_kernel_%s", w->kernel.name);
  LLVMValueRef global = LLVMAddGlobal(w->module, LLVMTypeOf(record), name);
  LLVMSetInitializer(global, record);
  LLVMSetGlobalConstant(global, true);
}

/* ------------------------------------------------------------------------------------------ */
/* The module                                                                                   */

#define ITEM_PREFIX "kdl_cc_item_"

static LLVMTypeRef group_struct(LLVMContextRef context) {
  LLVMTypeRef number = LLVMInt32TypeInContext(context), three = LLVMArrayType2(number, 3);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0);
  LLVMTypeRef types[] = {number, three, three, three, three, number, pointer, pointer};
  return LLVMStructTypeInContext(context, types, sizeof types / sizeof *types, false);
}

/* Renames group memory, and the functions of kernels, whose names those of groups get; hides all
 * that is neither a kernel nor a variable that kdl_global finds. */
static kdl_string_list rename_parts(ir_linker *linker) {
  kdl_string_list kernels = {.arena = linker->request->arena};
  char name[512];
  for (LLVMValueRef v = LLVMGetFirstGlobal(linker->module); v; v = LLVMGetNextGlobal(v)) {
    if (!LLVMIsDeclaration(v) && LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == IR_SPACE_GROUP) {
      snprintf(name, sizeof name, IR_GROUP_PREFIX "%s", ir_value_name(v).data);
      LLVMSetValueName2(v, name, strlen(name));
    }
    if (ir_value_is_exported(v) && !ir_constant_is(v)) {
      bool is_hidden = LLVMGetVisibility(v) == LLVMHiddenVisibility ||
                       LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == IR_SPACE_GROUP;
      LLVMSetLinkage(v, is_hidden ? LLVMInternalLinkage : LLVMExternalLinkage);
      LLVMSetVisibility(v, is_hidden ? LLVMDefaultVisibility : LLVMProtectedVisibility);
    } else {
      LLVMSetVisibility(v, LLVMDefaultVisibility);
    }
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(linker->module); f; f = LLVMGetNextFunction(f)) {
    bool is_kernel = LLVMGetFunctionCallConv(f) == IR_SPIR_KERNEL && ir_value_is_exported(f);
    if (is_kernel) {
      xstring_list_append(&kernels, ir_value_name(f).data);
      snprintf(name, sizeof name, ITEM_PREFIX "%s", ir_value_name(f).data);
      LLVMSetValueName2(f, name, strlen(name));
      add_attribute(f, "alwaysinline");
    }
    LLVMSetFunctionCallConv(f, LLVMCCallConv);
    if (!LLVMIsDeclaration(f) && ir_value_is_exported(f)) {
      LLVMSetLinkage(f, LLVMInternalLinkage);
      LLVMSetVisibility(f, LLVMDefaultVisibility);
    }
  }
  return kernels;
}

/* Whether the function reaches a call of `wanted`. */
static bool reaches(LLVMValueRef function, LLVMValueRef wanted, ir_map *seen) {
  if (ir_map_get(seen, function, NULL))
    return false;
  ir_map_set(seen, function, 1);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); ++k) {
        LLVMValueRef operand = LLVMGetOperand(i, k);
        if (operand == wanted)
          return true;
        if (LLVMIsAFunction(operand) && !LLVMIsDeclaration(operand) &&
            reaches(operand, wanted, seen))
          return true;
      }
    }
  }
  return false;
}

static bool kernel_reaches(const ir_linker *linker, LLVMValueRef item, LLVMValueRef wanted) {
  ir_map seen = {.arena = linker->request->arena};
  return wanted && reaches(item, wanted, &seen);
}

static kdl_status wrap_kernels(ir_linker *linker, ir_group_state *state,
                               const kdl_string_list *kernels, const bool *uses_dynamic) {
  LLVMContextRef context = linker->context->llvm;
  LLVMModuleRef module = linker->module;
  LLVMValueRef barrier = LLVMGetNamedFunction(module, IR_GROUPS_BARRIER);
  ir_groups_kernel *waiting = xarena_alloc(state->arena, (kernels->count + 1) * sizeof *waiting);
  size_t waiting_count = 0;
  wrapper w = {.linker = linker,
               .state = state,
               .context = context,
               .module = module,
               .layout = LLVMGetModuleDataLayout(module),
               .builder = ir_create_builder(module),
               .number = LLVMInt32TypeInContext(context),
               .pointer = LLVMPointerTypeInContext(context, 0),
               .group_type = group_struct(context),
               .places = xarena_alloc(state->arena, state->variable_count * sizeof *w.places)};
  for (size_t i = 0; i < kernels->count; ++i) {
    char name[512];
    snprintf(name, sizeof name, ITEM_PREFIX "%s", kernels->items[i]);
    w.item = LLVMGetNamedFunction(module, name);
    ir_form_kernel_of(w.item, &w.kernel);
    w.kernel.name = kernels->items[i];
    w.waits = kernel_reaches(linker, w.item, barrier);
    build_descriptor(&w, build_group_function(&w, uses_dynamic[i]));
    if (w.waits)
      waiting[waiting_count++] = (ir_groups_kernel){
          w.kernel.name, {w.kernel.block[0], w.kernel.block[1], w.kernel.block[2]}};
  }
  LLVMDisposeBuilder(w.builder);
  for (size_t v = 1; v < state->variable_count; ++v) {
    if (!LLVMGetFirstUse(state->variables[v]))
      LLVMDeleteGlobal(state->variables[v]);
  }
  KDL_TRY(ir_module_verify(module, linker->request->caller, "broken by the functions of groups"));
  return waiting_count ? ir_groups_lower(module, waiting, waiting_count) : KDL_OK;
}

static void rename_barrier(LLVMModuleRef module) {
  LLVMValueRef barrier = LLVMGetNamedFunction(module, "kdl_p1_sync_threads");
  if (barrier)
    LLVMSetValueName2(barrier, IR_GROUPS_BARRIER, sizeof IR_GROUPS_BARRIER - 1);
}

kdl_status ir_lower_cpu(ir_linker *linker) {
  const char *caller = linker->request->caller;
  ir_group_state state;
  kdl_string_list kernels = rename_parts(linker);
  KDL_TRY(ir_flatten(linker->context, caller, &linker->module));
  rename_barrier(linker->module);
  bool *uses_dynamic = xarena_alloc(linker->request->arena, kernels.count + 1);
  LLVMValueRef dynamic = LLVMGetNamedGlobal(linker->module, "kdl_dynamic");
  for (size_t i = 0; i < kernels.count; ++i) {
    char name[512];
    snprintf(name, sizeof name, ITEM_PREFIX "%s", kernels.items[i]);
    uses_dynamic[i] = kernel_reaches(linker, LLVMGetNamedFunction(linker->module, name), dynamic);
  }
  ir_group_state_init(linker->request->arena, linker->module, &state);
  KDL_TRY(ir_group_state_pass(&state, caller));
  return wrap_kernels(linker, &state, &kernels, uses_dynamic);
}
