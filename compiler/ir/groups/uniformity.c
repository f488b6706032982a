/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which values differ between work-items. A value is uniform unless it comes from: the index of the
 * work-item; memory that the work-item's own code may have written since the last barrier; a
 * variable stored in a divergent block; or another varying value.
 *
 * A load from a uniform address is uniform: a write by another work-item in between would be a
 * race.
 *
 * After a barrier all work-items are together: they agree on it, or the group aborts
 * (loop_exits.c).
 */
#include "compiler/ir/groups/flow.h"

/* ------------------------------------------------------------------------------------------ */
/* Writes                                                                                       */

/* Whether the pointer points into a variable of one work-item. */
static bool is_item_memory(const ir_flow *flow, LLVMValueRef pointer) {
  while (LLVMIsAGetElementPtrInst(pointer))
    pointer = LLVMGetOperand(pointer, 0);
  return ir_flow_variable(flow, pointer) != NULL;
}

static bool may_write(const ir_flow *flow, LLVMValueRef instruction) {
  switch (LLVMGetInstructionOpcode(instruction)) {
  case LLVMStore:
    return !is_item_memory(flow, LLVMGetOperand(instruction, 1));
  case LLVMCall:
    return !ir_flow_is_pure(instruction);
  case LLVMFence:
  case LLVMAtomicCmpXchg:
  case LLVMAtomicRMW:
  case LLVMVAArg:
    return true;
  default:
    return false;
  }
}

/* `is_unwritten` of a block describes its begin. */
static bool is_unwritten_at(const ir_flow *flow, const ir_block *block, LLVMValueRef end) {
  if (block->is_barrier)
    return true;
  bool is_clean = block->is_unwritten;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i != end && is_clean;
       i = LLVMGetNextInstruction(i))
    is_clean = !may_write(flow, i);
  return is_clean;
}

static void find_unwritten(ir_flow *flow) {
  for (uint32_t b = 0; b < flow->block_count; ++b)
    flow->blocks[b].is_unwritten = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < flow->block_count; ++b) {
      ir_block *block = &flow->blocks[b];
      for (uint32_t i = 0; i < block->predecessor_count && block->is_unwritten; ++i) {
        if (is_unwritten_at(flow, &flow->blocks[block->predecessors[i]], NULL))
          continue;
        block->is_unwritten = false;
        changed = true;
      }
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Values                                                                                       */

bool ir_flow_is_varying(const ir_flow *flow, LLVMValueRef value) {
  const ir_variable *variable = ir_flow_variable(flow, value);
  return variable || ir_map_get(&flow->varying, value, NULL);
}

static bool has_varying_operand(const ir_flow *flow, LLVMValueRef instruction) {
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    if (ir_flow_is_varying(flow, LLVMGetOperand(instruction, (unsigned)i)))
      return true;
  }
  return false;
}

static bool loads_varying(const ir_flow *flow, const ir_block *block, LLVMValueRef load) {
  const ir_variable *variable = ir_flow_loaded(flow, load);
  if (variable)
    return variable->is_varying;
  return ir_flow_is_varying(flow, LLVMGetOperand(load, 0)) || LLVMGetVolatile(load) ||
         LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic ||
         !is_unwritten_at(flow, block, load);
}

static bool is_result_varying(const ir_flow *flow, const ir_block *block,
                              LLVMValueRef instruction) {
  if (LLVMIsALoadInst(instruction))
    return loads_varying(flow, block, instruction);
  if (ir_flow_calls(instruction, flow->thread) || !ir_flow_is_pure(instruction))
    return true;
  return has_varying_operand(flow, instruction);
}

static bool update_block(ir_flow *flow, const ir_block *block) {
  bool changed = false;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i; i = LLVMGetNextInstruction(i)) {
    ir_variable *variable = ir_flow_stored(flow, i);
    if (variable && !variable->is_varying &&
        (block->is_divergent || ir_flow_is_varying(flow, LLVMGetOperand(i, 0))))
      changed = variable->is_varying = true;
    if (!ir_map_get(&flow->varying, i, NULL) && !LLVMIsATerminatorInst(i) &&
        is_result_varying(flow, block, i)) {
      ir_map_set(&flow->varying, i, 1);
      changed = true;
    }
  }
  return changed;
}

/* A varying branch makes the blocks up to its post-dominator divergent; or, if it controls a
 * barrier, those up to the barrier: there all work-items meet, or the group aborts. */
static bool mark_divergent(ir_flow *flow, uint32_t number) {
  const ir_block *block = &flow->blocks[number];
  bool changed = false, *divided = block->control_dependents;
  if (block->controls_barrier) {
    divided = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *divided);
    ir_flow_find_reachable_before_barrier(flow, number, divided);
  }
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (!divided[b] || flow->blocks[b].is_divergent)
      continue;
    changed = flow->blocks[b].is_divergent = true;
  }
  return changed;
}

void ir_flow_find_varying(ir_flow *flow) {
  find_unwritten(flow);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < flow->block_count; ++b) {
      const ir_block *block = &flow->blocks[b];
      changed |= update_block(flow, block);
      if (block->condition && ir_flow_is_varying(flow, block->condition))
        changed |= mark_divergent(flow, b);
    }
  }
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ir_block *block = &flow->blocks[b];
    block->is_uniform_exit = block->controls_barrier && !block->is_divergent &&
                             !ir_flow_is_varying(flow, block->condition);
  }
}
