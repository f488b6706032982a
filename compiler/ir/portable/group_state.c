/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * As docs/decisions/0009-group-variables.md, on values in place of text: which function needs which
 * variable is a fixed point over calls.
 */
#include "compiler/ir/groups/flow.h"
#include "compiler/ir/llvm_versions.h"
#include "compiler/ir/portable/form.h"
#include "compiler/ir/portable/lower.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <stdio.h>
#include <string.h>

/* The members of the work-item: struct kdl_item of <kdl/kernel/host.h>. */
enum { ITEM_GROUP, ITEM_GROUP_COUNT, ITEM_BLOCK, ITEM_THREAD, ITEM_DYNAMIC, ITEM_MEMBERS };

static const struct {
  const char *name;
  unsigned member, otherwise;
} queries[] = {{"kdl_p1_block_id", ITEM_GROUP, 0},
               {"kdl_p1_num_blocks", ITEM_GROUP_COUNT, 1},
               {"kdl_p1_num_threads", ITEM_BLOCK, 1},
               {"kdl_p1_thread_id", ITEM_THREAD, 0}};

static const char dynamic_name[] = "kdl_dynamic";

/* A function and what it needs. */
typedef struct {
  LLVMValueRef function, replaced_by;
  bool *needs; /* per variable */
} user;

typedef struct {
  const ir_group_state *state;
  const char *name;
  LLVMBuilderRef builder;
  user *users;
  size_t count;
  ir_map numbers; /* of users, by their functions */
} passing;

void ir_group_state_init(kdl_arena *arena, LLVMModuleRef module, ir_group_state *out_state) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef number = LLVMInt32TypeInContext(context);
  LLVMTypeRef members[ITEM_MEMBERS];
  for (unsigned i = 0; i < ITEM_DYNAMIC; ++i)
    members[i] = LLVMArrayType2(number, 3);
  members[ITEM_DYNAMIC] = LLVMPointerTypeInContext(context, 0);
  *out_state = (ir_group_state){.arena = arena, .module = module};
  out_state->item_type = LLVMStructCreateNamed(context, "struct.kdl_item");
  LLVMStructSetBody(out_state->item_type, members, ITEM_MEMBERS, false);
  size_t count = 1;
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
    ++count;
  out_state->variables = xarena_alloc(arena, count * sizeof *out_state->variables);
  out_state->variables[0] = NULL;
  out_state->variable_count = 1;
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v)) {
    if (kdl_text_starts(ir_value_name(v), IR_GROUP_PREFIX))
      out_state->variables[out_state->variable_count++] = v;
  }
}

LLVMTypeRef ir_group_state_type(const ir_group_state *state, size_t variable, unsigned *out_align) {
  if (variable == 0) {
    *out_align = 8;
    return state->item_type;
  }
  *out_align = LLVMGetAlignment(state->variables[variable]);
  return LLVMGlobalGetValueType(state->variables[variable]);
}

static void print_name(const ir_group_state *state, size_t variable, char *buffer, size_t size) {
  if (variable == 0)
    snprintf(buffer, size, IR_GROUP_PREFIX "kdl_item");
  else
    snprintf(buffer, size, "%s", ir_value_name(state->variables[variable]).data);
}

int ir_group_state_parameter(const ir_group_state *state, LLVMValueRef parameter) {
  char name[512];
  for (size_t i = 0; i < state->variable_count; ++i) {
    print_name(state, i, name, sizeof name);
    if (kdl_text_is(ir_value_name(parameter), name))
      return (int)i;
  }
  return -1;
}

/* ------------------------------------------------------------------------------------------ */
/* Uses                                                                                         */

static int query_of(LLVMValueRef value) {
  for (size_t i = 0; i < sizeof queries / sizeof *queries; ++i) {
    if (LLVMIsAFunction(value) && kdl_text_is(ir_value_name(value), queries[i].name))
      return (int)i;
  }
  return -1;
}

/* The variable that a value is; -1: none. Dynamic group memory belongs to the work-item. */
static int variable_of(const ir_group_state *state, LLVMValueRef value) {
  if (!LLVMIsAGlobalVariable(value))
    return -1;
  if (kdl_text_is(ir_value_name(value), dynamic_name))
    return 0;
  for (size_t i = 1; i < state->variable_count; ++i) {
    if (state->variables[i] == value)
      return (int)i;
  }
  return -1;
}

static bool mentions_variable(const ir_group_state *state, LLVMValueRef value) {
  if (variable_of(state, value) >= 0)
    return true;
  if (!LLVMIsAConstantExpr(value))
    return false;
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); ++i) {
    if (mentions_variable(state, LLVMGetOperand(value, i)))
      return true;
  }
  return false;
}

static kdl_status fail_use(const passing *p, LLVMValueRef function, const char *problem) {
  return kdl_fail(KDL_UNSUPPORTED,
                  "%s: '%.128s' %s, which a CPU cannot do: group memory and the work-item are "
                  "parameters there",
                  p->name, ir_value_name(function).data, problem);
}

static user *find_user(const passing *p, LLVMValueRef function) {
  uint32_t number;
  return ir_map_get(&p->numbers, function, &number) ? &p->users[number] : NULL;
}

/* Whether an operand stands for a variable, possibly in a constant expression. */
static bool stands_for(const passing *p, LLVMValueRef value, size_t variable) {
  if (variable == 0 && query_of(value) >= 0)
    return true;
  if (variable_of(p->state, value) == (int)variable)
    return true;
  for (unsigned i = 0; LLVMIsAConstantExpr(value) && i < (unsigned)LLVMGetNumOperands(value); ++i) {
    if (stands_for(p, LLVMGetOperand(value, i), variable))
      return true;
  }
  return false;
}

/* Adds to `needs` what one function uses and calls; whether that is more than before. */
static bool add_needs(passing *p, user *u) {
  bool changed = false;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(u->function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
      for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); ++k) {
        LLVMValueRef operand = LLVMGetOperand(i, k);
        const user *called = LLVMIsAFunction(operand) ? find_user(p, operand) : NULL;
        for (size_t v = 0; v < p->state->variable_count; ++v) {
          bool needs = called ? called->needs[v] : stands_for(p, operand, v);
          changed |= needs && !u->needs[v];
          u->needs[v] |= needs;
        }
      }
    }
  }
  return changed;
}

static bool needs_any(const passing *p, const user *u) {
  for (size_t v = 0; v < p->state->variable_count; ++v) {
    if (u->needs[v])
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------------------------------ */
/* Parameters                                                                                   */

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, unsigned parameters) {
  for (unsigned i = 0; i <= parameters + 1; ++i) {
    LLVMAttributeIndex index = i > parameters ? IR_FUNCTION_ATTRIBUTES : i;
    unsigned count = LLVMGetAttributeCountAtIndex(from, index);
    LLVMAttributeRef attributes[64];
    if (count > 64)
      continue;
    LLVMGetAttributesAtIndex(from, index, attributes);
    for (unsigned k = 0; k < count; ++k)
      LLVMAddAttributeAtIndex(to, index, attributes[k]);
  }
}

/* A function of the same body with more parameters. */
static void add_parameters(passing *p, user *u) {
  LLVMTypeRef type = LLVMGlobalGetValueType(u->function);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(p->state->module), 0);
  unsigned own = LLVMCountParams(u->function), count = own;
  LLVMTypeRef *types =
      xarena_alloc(p->state->arena, (own + p->state->variable_count) * sizeof *types);
  LLVMGetParamTypes(type, types);
  for (size_t v = 0; v < p->state->variable_count; ++v) {
    if (u->needs[v])
      types[count++] = pointer;
  }
  char name[512];
  snprintf(name, sizeof name, "%s", ir_value_name(u->function).data);
  LLVMSetValueName2(u->function, "", 0);
  u->replaced_by = LLVMAddFunction(p->state->module, name,
                                   LLVMFunctionType(LLVMGetReturnType(type), types, count, false));
  LLVMSetLinkage(u->replaced_by, LLVMInternalLinkage);
  LLVMSetFunctionCallConv(u->replaced_by, LLVMGetFunctionCallConv(u->function));
  copy_attributes(u->function, u->replaced_by, own);
  for (unsigned i = 0; i < own; ++i)
    LLVMReplaceAllUsesWith(LLVMGetParam(u->function, i), LLVMGetParam(u->replaced_by, i));
  for (LLVMBasicBlockRef b; (b = LLVMGetFirstBasicBlock(u->function));) {
    LLVMRemoveBasicBlockFromParent(b);
    LLVMAppendExistingBasicBlock(u->replaced_by, b);
  }
  for (size_t v = 0; v < p->state->variable_count; ++v) {
    if (!u->needs[v])
      continue;
    print_name(p->state, v, name, sizeof name);
    LLVMSetValueName2(LLVMGetParam(u->replaced_by, own++), name, strlen(name));
  }
}

static LLVMValueRef parameter_for(const passing *p, LLVMValueRef function, size_t variable) {
  for (unsigned i = LLVMCountParams(function); i-- > 0;) {
    LLVMValueRef parameter = LLVMGetParam(function, i);
    if (ir_group_state_parameter(p->state, parameter) == (int)variable)
      return parameter;
  }
  return NULL;
}

static void copy_call_attributes(LLVMValueRef from, LLVMValueRef to, unsigned parameters) {
  for (unsigned i = 0; i <= parameters + 1; ++i) {
    LLVMAttributeIndex index = i > parameters ? IR_FUNCTION_ATTRIBUTES : i;
    unsigned count = LLVMGetCallSiteAttributeCount(from, index);
    LLVMAttributeRef attributes[64];
    if (count > 64)
      continue;
    LLVMGetCallSiteAttributes(from, index, attributes);
    for (unsigned k = 0; k < count; ++k)
      LLVMAddCallSiteAttribute(to, index, attributes[k]);
  }
}

static void pass_variables(passing *p, LLVMValueRef call, const user *called) {
  LLVMValueRef caller = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  unsigned own = LLVMGetNumArgOperands(call), count = own;
  LLVMValueRef *arguments =
      xarena_alloc(p->state->arena, (own + p->state->variable_count) * sizeof *arguments);
  for (unsigned i = 0; i < own; ++i)
    arguments[i] = LLVMGetOperand(call, i);
  for (size_t v = 0; v < p->state->variable_count; ++v) {
    if (called->needs[v])
      arguments[count++] = parameter_for(p, caller, v);
  }
  LLVMPositionBuilderBefore(p->builder, call);
  LLVMValueRef made = LLVMBuildCall2(p->builder, LLVMGlobalGetValueType(called->replaced_by),
                                     called->replaced_by, arguments, count, "");
  LLVMSetInstructionCallConv(made, LLVMGetInstructionCallConv(call));
  copy_call_attributes(call, made, own);
  if (LLVMCanValueUseFastMathFlags(call))
    LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(call));
  LLVMReplaceAllUsesWith(call, made);
  LLVMInstructionEraseFromParent(call);
}

/* item->member[dim], or another number for other dimensions. */
static void answer_query(passing *p, LLVMValueRef call, int query) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  LLVMValueRef dim = LLVMGetOperand(call, 0), item = parameter_for(p, function, 0);
  LLVMTypeRef number = LLVMTypeOf(call);
  LLVMBuilderRef b = p->builder;
  LLVMPositionBuilderBefore(b, call);
  LLVMValueRef is_known = LLVMBuildICmp(b, LLVMIntULT, dim, LLVMConstInt(number, 3, false), "");
  LLVMValueRef at = LLVMBuildSelect(b, is_known, dim, LLVMConstInt(number, 0, false), "");
  LLVMValueRef index[] = {LLVMConstInt(number, 0, false),
                          LLVMConstInt(number, queries[query].member, false), at};
  LLVMValueRef place = LLVMBuildInBoundsGEP2(b, p->state->item_type, item, index, 3, "");
  LLVMValueRef value = LLVMBuildLoad2(b, number, place, "");
  value = LLVMBuildSelect(b, is_known, value, LLVMConstInt(number, queries[query].otherwise, false),
                          "");
  LLVMReplaceAllUsesWith(call, value);
  LLVMInstructionEraseFromParent(call);
}

/* The address of dynamic group memory. */
static LLVMValueRef load_dynamic(passing *p, LLVMValueRef function) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(p->state->module), 0);
  LLVMValueRef place = LLVMBuildStructGEP2(p->builder, p->state->item_type,
                                           parameter_for(p, function, 0), ITEM_DYNAMIC, "");
  return LLVMBuildLoad2(p->builder, pointer, place, "");
}

/* The value of an operand in a function that has the variables as parameters: constant expressions
 * become instructions. NULL for an expression that is not known. */
static LLVMValueRef build_operand(passing *p, LLVMValueRef function, LLVMValueRef operand) {
  LLVMValueRef operands[16];
  int variable = variable_of(p->state, operand), count = LLVMGetNumOperands(operand);
  if (variable >= 0)
    return kdl_text_is(ir_value_name(operand), dynamic_name)
               ? load_dynamic(p, function)
               : parameter_for(p, function, (size_t)variable);
  if (!mentions_variable(p->state, operand))
    return operand;
  for (int i = 0; i < count && count <= 16; ++i) {
    operands[i] = build_operand(p, function, LLVMGetOperand(operand, (unsigned)i));
    if (!operands[i])
      return NULL;
  }
  LLVMOpcode opcode = LLVMGetConstOpcode(operand);
  if (opcode == LLVMGetElementPtr && count <= 16)
    return LLVMBuildGEPWithNoWrapFlags(p->builder, LLVMGetGEPSourceElementType(operand),
                                       operands[0], operands + 1, (unsigned)count - 1, "",
                                       LLVMGEPGetNoWrapFlags(operand));
  if (opcode == LLVMBitCast || opcode == LLVMPtrToInt || opcode == LLVMIntToPtr ||
      opcode == LLVMTrunc)
    return LLVMBuildCast(p->builder, opcode, operands[0], LLVMTypeOf(operand), "");
  if (opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMXor)
    return LLVMBuildBinOp(p->builder, opcode, operands[0], operands[1], "");
  return NULL;
}

/* Replaces what stands for variables in a function that has them as parameters. */
static kdl_status rewrite_function(passing *p, LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
      int operands = LLVMGetNumOperands(i) - (callee != NULL);
      for (int k = 0; k < operands; ++k) {
        LLVMValueRef operand = LLVMGetOperand(i, (unsigned)k);
        const user *taken = LLVMIsAFunction(operand) ? find_user(p, operand) : NULL;
        if (query_of(operand) >= 0 || (taken && taken->replaced_by))
          return fail_use(p, function, "takes the address of a function that uses them");
        if (!mentions_variable(p->state, operand))
          continue;
        LLVMPositionBuilderBefore(
            p->builder, LLVMIsAPHINode(i)
                            ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(i, (unsigned)k))
                            : i);
        LLVMValueRef made = build_operand(p, function, operand);
        if (!made)
          return fail_use(p, function, "computes with the address of group memory");
        LLVMSetOperand(i, (unsigned)k, made);
      }
      const user *called = callee && LLVMIsAFunction(callee) ? find_user(p, callee) : NULL;
      if (callee && query_of(callee) >= 0)
        answer_query(p, i, query_of(callee));
      else if (called && called->replaced_by)
        pass_variables(p, i, called);
    }
  }
  return KDL_OK;
}

static kdl_status pass_all(passing *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < p->count; ++i)
      changed |= add_needs(p, &p->users[i]);
  }
  for (size_t i = 0; i < p->count; ++i) {
    if (needs_any(p, &p->users[i]))
      add_parameters(p, &p->users[i]);
  }
  for (size_t i = 0; i < p->count; ++i) {
    if (p->users[i].replaced_by)
      KDL_TRY(rewrite_function(p, p->users[i].replaced_by));
  }
  for (size_t i = 0; i < p->count; ++i) {
    if (!p->users[i].replaced_by)
      continue;
    if (LLVMGetFirstUse(p->users[i].function))
      return fail_use(p, p->users[i].replaced_by, "is called through a pointer and uses them");
    LLVMDeleteFunction(p->users[i].function);
  }
  return KDL_OK;
}

kdl_status ir_group_state_pass(ir_group_state *state, const char *name) {
  passing p = {.state = state, .name = name, .numbers = {.arena = state->arena}};
  size_t count = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(state->module); f; f = LLVMGetNextFunction(f))
    ++count;
  p.users = xarena_alloc(state->arena, (count + 1) * sizeof *p.users);
  for (LLVMValueRef f = LLVMGetFirstFunction(state->module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    bool *needs = xarena_alloc(state->arena, state->variable_count * sizeof *needs);
    memset(needs, 0, state->variable_count * sizeof *needs);
    ir_map_set(&p.numbers, f, (uint32_t)p.count);
    p.users[p.count++] = (user){.function = f, .needs = needs};
  }
  p.builder = ir_create_builder(state->module);
  kdl_status status = pass_all(&p);
  LLVMDisposeBuilder(p.builder);
  return status;
}
