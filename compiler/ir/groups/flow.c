/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/groups/flow.h"

#include "compiler/ir/llvm_versions.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/memory.h"

#include <llvm-c/DebugInfo.h>

void *ir_zeroed_alloc(kdl_arena *arena, size_t count, size_t size) {
  return memset(xarena_alloc(arena, count * size + 1), 0, count * size + 1);
}

/* ------------------------------------------------------------------------------------------ */
/* Instructions                                                                                 */

bool ir_flow_calls(LLVMValueRef instruction, LLVMValueRef function) {
  return function && LLVMIsACallInst(instruction) && LLVMGetCalledValue(instruction) == function;
}

bool ir_flow_returns(const ir_block *block) {
  return LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(block->ref)) == LLVMRet;
}

kdl_string ir_flow_value_name(LLVMValueRef value) {
  kdl_string name;
  name.data = LLVMGetValueName2(value, &name.length);
  return name;
}

bool ir_flow_is_group_address(LLVMValueRef instruction) {
  return LLVMIsACallInst(instruction) &&
         kdl_text_starts(ir_flow_value_name(LLVMGetCalledValue(instruction)), "kdl.local.");
}

/* memory(none) */
static bool touches_no_memory(LLVMValueRef function) {
  LLVMAttributeRef attribute =
      LLVMIsAFunction(function)
          ? LLVMGetEnumAttributeAtIndex(function, IR_FUNCTION_ATTRIBUTES,
                                        LLVMGetEnumAttributeKindForName("memory", 6))
          : NULL;
  return attribute && LLVMGetEnumAttributeValue(attribute) == 0;
}

bool ir_flow_is_pure(LLVMValueRef instruction) {
  switch (LLVMGetInstructionOpcode(instruction)) {
  case LLVMCall:
    return touches_no_memory(LLVMGetCalledValue(instruction)) ||
           ir_flow_is_group_address(instruction);
  case LLVMPHI:
  case LLVMLoad:
  case LLVMStore:
  case LLVMAlloca:
  case LLVMFence:
  case LLVMAtomicCmpXchg:
  case LLVMAtomicRMW:
  case LLVMVAArg:
    return false;
  default:
    return !LLVMIsATerminatorInst(instruction);
  }
}

const char *ir_flow_location(const ir_flow *flow, LLVMValueRef instruction) {
  LLVMValueRef found = instruction;
  while (found && LLVMGetDebugLocLine(found) == 0)
    found = LLVMGetPreviousInstruction(found);
  for (LLVMValueRef i = instruction; !found && i; i = LLVMGetNextInstruction(i))
    found = LLVMGetDebugLocLine(i) ? i : NULL;
  if (!found)
    return NULL;
  unsigned length = 0;
  const char *file = LLVMGetDebugLocFilename(found, &length);
  return xarena_format(flow->arena, "%.*s:%u:%u", (int)length, file, LLVMGetDebugLocLine(found),
                       LLVMGetDebugLocColumn(found));
}

const char *ir_flow_kernel_at(const ir_flow *flow, LLVMValueRef instruction) {
  const char *where = instruction ? ir_flow_location(flow, instruction) : NULL;
  return xarena_format(flow->arena, "%s%skernel %s", where ? where : "", where ? ": " : "",
                       flow->kernel->name);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables                                                                                    */

uint32_t ir_flow_block_of(const ir_flow *flow, LLVMValueRef instruction) {
  uint32_t number = 0;
  ir_map_get(&flow->block_numbers, LLVMGetInstructionParent(instruction), &number);
  return number;
}

ir_variable *ir_flow_variable(const ir_flow *flow, LLVMValueRef value) {
  uint32_t number;
  return ir_map_get(&flow->variable_numbers, value, &number) ? &flow->variables[number] : NULL;
}

static ir_variable *simple_variable(const ir_flow *flow, LLVMValueRef pointer) {
  ir_variable *v = ir_flow_variable(flow, pointer);
  return v && v->is_simple ? v : NULL;
}

ir_variable *ir_flow_loaded(const ir_flow *flow, LLVMValueRef instruction) {
  return LLVMIsALoadInst(instruction) ? simple_variable(flow, LLVMGetOperand(instruction, 0))
                                      : NULL;
}

ir_variable *ir_flow_stored(const ir_flow *flow, LLVMValueRef instruction) {
  return LLVMIsAStoreInst(instruction) ? simple_variable(flow, LLVMGetOperand(instruction, 1))
                                       : NULL;
}

static void read_variable_uses(ir_variable *v) {
  v->is_simple = true;
  for (LLVMUseRef use = LLVMGetFirstUse(v->alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool loads = LLVMIsALoadInst(user) && LLVMTypeOf(user) == v->type && !LLVMGetVolatile(user) &&
                 LLVMGetOrdering(user) == LLVMAtomicOrderingNotAtomic;
    bool stores = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == v->alloca &&
                  LLVMGetOperand(user, 0) != v->alloca &&
                  LLVMTypeOf(LLVMGetOperand(user, 0)) == v->type && !LLVMGetVolatile(user) &&
                  LLVMGetOrdering(user) == LLVMAtomicOrderingNotAtomic;
    if (!loads && !stores)
      v->is_simple = false;
    if (stores)
      v->only_store = v->store_count++ ? NULL : user;
  }
}

static kdl_status read_variables(ir_flow *flow) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(flow->function);
  size_t count = 0;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].ref); i;
         i = LLVMGetNextInstruction(i)) {
      if (!LLVMIsAAllocaInst(i))
        continue;
      if (flow->blocks[b].ref != entry || !LLVMIsConstant(LLVMGetOperand(i, 0)))
        return kdl_fail(KDL_BAD_FILE,
                        "%s waits for its group (__gpu_sync_threads), and has an array "
                        "of variable length here, which it cannot have on the CPU",
                        ir_flow_kernel_at(flow, i));
      ++count;
    }
  }
  flow->variables = ir_zeroed_alloc(flow->arena, count, sizeof *flow->variables);
  for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i; i = LLVMGetNextInstruction(i)) {
    if (!LLVMIsAAllocaInst(i))
      continue;
    ir_variable *v = &flow->variables[flow->variable_count];
    ir_map_set(&flow->variable_numbers, i, flow->variable_count++);
    v->alloca = i;
    v->type = LLVMGetAllocatedType(i);
    LLVMValueRef length = LLVMGetOperand(i, 0);
    if (LLVMConstIntGetZExtValue(length) != 1)
      v->type = LLVMArrayType2(v->type, LLVMConstIntGetZExtValue(length));
    read_variable_uses(v);
  }
  return KDL_OK;
}

LLVMValueRef ir_flow_single_stored_value(LLVMValueRef load) {
  LLVMValueRef place = LLVMGetOperand(load, 0), found = NULL;
  if (!LLVMIsAAllocaInst(place))
    return NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(place); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user))
      continue;
    if (found || !LLVMIsAStoreInst(user) || LLVMGetOperand(user, 1) != place)
      return NULL;
    found = LLVMGetOperand(user, 0);
  }
  return found;
}

LLVMValueRef ir_flow_underlying_object(LLVMValueRef pointer) {
  enum { deepest = 32 };
  for (int depth = 0; depth < deepest; ++depth) {
    LLVMValueRef held = LLVMIsALoadInst(pointer) ? ir_flow_single_stored_value(pointer) : NULL;
    if (LLVMIsAGetElementPtrInst(pointer))
      pointer = LLVMGetOperand(pointer, 0);
    else if (held)
      pointer = held;
    else
      break;
  }
  return pointer;
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks                                                                                       */

static void add_unique(uint32_t *list, uint32_t *count, uint32_t number) {
  for (uint32_t i = 0; i < *count; ++i) {
    if (list[i] == number)
      return;
  }
  list[(*count)++] = number;
}

static kdl_status read_blocks(ir_flow *flow) {
  uint32_t count = LLVMCountBasicBlocks(flow->function);
  flow->blocks = ir_zeroed_alloc(flow->arena, count, sizeof *flow->blocks);
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(flow->function); b;
       b = LLVMGetNextBasicBlock(b)) {
    ir_map_set(&flow->block_numbers, b, flow->block_count);
    flow->blocks[flow->block_count++].ref = b;
  }
  uint32_t *before = ir_zeroed_alloc(flow->arena, count, sizeof *before);
  for (uint32_t b = 0; b < count; ++b) {
    ir_block *block = &flow->blocks[b];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ref);
    unsigned successors = LLVMGetNumSuccessors(end);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(end);
    if (!ir_is_branch(end) && opcode != LLVMSwitch && opcode != LLVMRet &&
        opcode != LLVMUnreachable)
      return kdl_fail(KDL_BAD_FILE,
                      "%s waits for its group (__gpu_sync_threads), and jumps here to a "
                      "computed label, which it cannot on the CPU",
                      ir_flow_kernel_at(flow, end));
    block->successors = ir_zeroed_alloc(flow->arena, successors, sizeof *block->successors);
    for (unsigned i = 0; i < successors; ++i) {
      uint32_t number = 0;
      ir_map_get(&flow->block_numbers, LLVMGetSuccessor(end, i), &number);
      add_unique(block->successors, &block->successor_count, number);
    }
    if (block->successor_count > 1)
      block->condition = LLVMGetOperand(end, 0);
    for (uint32_t i = 0; i < block->successor_count; ++i)
      ++before[block->successors[i]];
    block->is_barrier = ir_flow_calls(LLVMGetFirstInstruction(block->ref), flow->barrier);
  }
  for (uint32_t b = 0; b < count; ++b)
    flow->blocks[b].predecessors = ir_zeroed_alloc(flow->arena, before[b], sizeof *before);
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t i = 0; i < flow->blocks[b].successor_count; ++i) {
      ir_block *next = &flow->blocks[flow->blocks[b].successors[i]];
      next->predecessors[next->predecessor_count++] = b;
    }
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* Post-dominators                                                                              */

/* Cooper, Harvey and Kennedy's algorithm over the reverse post-order from the end. The end is a
 * virtual node after all others; blocks from which no return is reachable lead to it too. */
typedef struct {
  uint32_t *order;  /* blocks in post-order; the nearest to the end are last */
  uint32_t *number; /* by block: its position in the order */
  uint32_t count;
} post_dominators;

static void visit_post_order(const ir_flow *flow, post_dominators *j, uint32_t block,
                             uint32_t *stack) {
  uint32_t depth = 0;
  if (j->number[block])
    return;
  uint32_t *at = stack + flow->block_count; /* by depth: the next predecessor to visit */
  stack[depth] = block;
  at[depth] = 0;
  j->number[block] = 1;
  for (;;) {
    const ir_block *b = &flow->blocks[stack[depth]];
    if (at[depth] < b->predecessor_count) {
      uint32_t before = b->predecessors[at[depth]++];
      if (j->number[before])
        continue;
      j->number[before] = 1;
      stack[++depth] = before;
      at[depth] = 0;
      continue;
    }
    j->order[j->count++] = stack[depth];
    if (depth-- == 0)
      return;
  }
}

static uint32_t common_post_dominator(const ir_flow *flow, const post_dominators *j, uint32_t a,
                                      uint32_t b) {
  while (a != b) {
    if (a == IR_FLOW_END || b == IR_FLOW_END)
      return IR_FLOW_END;
    if (j->number[a] < j->number[b])
      a = flow->blocks[a].post_dominator;
    else
      b = flow->blocks[b].post_dominator;
  }
  return a;
}

static void find_post_dominators(ir_flow *flow) {
  post_dominators j = {.order = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof(uint32_t)),
                       .number = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof(uint32_t))};
  uint32_t *stack = ir_zeroed_alloc(flow->arena, 2 * (size_t)flow->block_count, sizeof(uint32_t));
  bool *ends = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof(bool));
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ends[b] = flow->blocks[b].successor_count == 0;
    if (ends[b])
      visit_post_order(flow, &j, b, stack);
  }
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (!j.number[b]) { /* no path to the end */
      ends[b] = true;
      visit_post_order(flow, &j, b, stack);
    }
  }
  bool *known = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof(bool));
  for (uint32_t i = 0; i < j.count; ++i)
    j.number[j.order[i]] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = j.count; i-- > 0;) {
      ir_block *block = &flow->blocks[j.order[i]];
      bool has = ends[j.order[i]];
      uint32_t join = IR_FLOW_END;
      for (uint32_t k = 0; k < block->successor_count; ++k) {
        if (!known[block->successors[k]])
          continue;
        join = has ? common_post_dominator(flow, &j, join, block->successors[k])
                   : block->successors[k];
        has = true;
      }
      if (has && (!known[j.order[i]] || block->post_dominator != join)) {
        known[j.order[i]] = changed = true;
        block->post_dominator = join;
      }
    }
  }
}

static void find_control_dependents(ir_flow *flow) {
  uint32_t *stack = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *stack);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ir_block *block = &flow->blocks[b];
    if (!block->condition)
      continue;
    block->control_dependents = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof(bool));
    uint32_t depth = 0;
    stack[depth++] = b;
    while (depth) {
      const ir_block *from = &flow->blocks[stack[--depth]];
      for (uint32_t i = 0; i < from->successor_count; ++i) {
        uint32_t to = from->successors[i];
        if (to == block->post_dominator || block->control_dependents[to])
          continue;
        block->control_dependents[to] = true;
        block->controls_barrier |= flow->blocks[to].is_barrier;
        stack[depth++] = to;
      }
    }
  }
}

void ir_flow_mark_reachable(const ir_flow *flow, uint32_t block, uint32_t mark, uint32_t *marks) {
  uint32_t *stack = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *stack), depth = 0;
  stack[depth++] = block;
  while (depth) {
    const ir_block *from = &flow->blocks[stack[--depth]];
    for (uint32_t i = 0; i < from->successor_count && !from->is_uniform_exit; ++i) {
      uint32_t to = from->successors[i];
      if (flow->blocks[to].region != from->region || marks[to])
        continue;
      marks[to] = mark;
      stack[depth++] = to;
    }
  }
}

void ir_flow_find_reachable_before_barrier(const ir_flow *flow, uint32_t block, bool *out_set) {
  uint32_t *stack = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *stack), depth = 0;
  uint32_t join = flow->blocks[block].post_dominator;
  stack[depth++] = block;
  while (depth) {
    const ir_block *from = &flow->blocks[stack[--depth]];
    for (uint32_t i = 0; i < from->successor_count; ++i) {
      uint32_t to = from->successors[i];
      if (to == join || out_set[to] || flow->blocks[to].is_barrier)
        continue;
      out_set[to] = true;
      stack[depth++] = to;
    }
  }
}

kdl_status ir_flow_read(ir_flow *flow) {
  KDL_TRY(read_blocks(flow));
  KDL_TRY(read_variables(flow));
  find_post_dominators(flow);
  find_control_dependents(flow);
  return KDL_OK;
}
