/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where variables are stored.
 *
 * Per group: variables that are uniform, and stored only by code that all work-items run, from
 * values that can be computed before the loop. Per work-item: values that one region leaves for
 * another, unless the other can compute them again from the index and the group's variables. In the
 * loop: the others, which one iteration alone needs.
 */
#include "compiler/ir/groups/flow.h"

enum {
  max_rematerialization_cost = 16
}; /* instructions: more than a load costs, less than a load and a store */

/* ------------------------------------------------------------------------------------------ */
/* Per group                                                                                    */

static bool is_unconditional(const ir_flow *flow, uint32_t block) {
  const ir_region *region = &flow->regions[flow->blocks[block].region];
  for (uint32_t i = 0; i < region->unconditional_count; ++i) {
    if (region->unconditional_blocks[i] == block)
      return true;
  }
  return false;
}

bool ir_flow_can_hoist(const ir_flow *flow, LLVMValueRef value) {
  if (LLVMIsAInstruction(value))
    return ir_map_get(&flow->hoisted, value, NULL);
  return true;
}

static bool can_hoist_now(const ir_flow *flow, LLVMValueRef instruction) {
  if (LLVMIsAAllocaInst(instruction) || LLVMIsATerminatorInst(instruction) ||
      ir_flow_is_varying(flow, instruction))
    return false;
  const ir_variable *variable = ir_flow_loaded(flow, instruction);
  if (variable)
    return variable->storage == IR_STORAGE_GROUP;
  if (!LLVMIsALoadInst(instruction) && !ir_flow_is_pure(instruction))
    return false;
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    if (!ir_flow_can_hoist(flow, LLVMGetOperand(instruction, (unsigned)i)))
      return false;
  }
  return true;
}

/* Operands precede their uses in the same block. */
static void find_hoisted(ir_flow *flow) {
  flow->hoisted = (ir_map){.arena = flow->arena};
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    const ir_region *region = &flow->regions[r];
    for (uint32_t i = 0; i < region->unconditional_count; ++i) {
      LLVMBasicBlockRef block = flow->blocks[region->unconditional_blocks[i]].ref;
      for (LLVMValueRef one = LLVMGetFirstInstruction(block); one;
           one = LLVMGetNextInstruction(one)) {
        if (can_hoist_now(flow, one))
          ir_map_set(&flow->hoisted, one, 1);
      }
    }
  }
}

static bool can_be_group_variable(const ir_flow *flow, const ir_variable *variable) {
  for (LLVMUseRef use = LLVMGetFirstUse(variable->alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAStoreInst(user) && (!is_unconditional(flow, ir_flow_block_of(flow, user)) ||
                                   !ir_flow_can_hoist(flow, LLVMGetOperand(user, 0))))
      return false;
  }
  return true;
}

static void find_group_variables(ir_flow *flow) {
  for (uint32_t v = 0; v < flow->variable_count; ++v) {
    ir_variable *variable = &flow->variables[v];
    if (variable->is_simple && !variable->is_varying)
      variable->storage = IR_STORAGE_GROUP;
  }
  for (bool changed = true; changed;) {
    changed = false;
    find_hoisted(flow);
    for (uint32_t v = 0; v < flow->variable_count; ++v) {
      ir_variable *variable = &flow->variables[v];
      if (variable->storage != IR_STORAGE_GROUP || can_be_group_variable(flow, variable))
        continue;
      variable->storage = IR_STORAGE_LOOP;
      changed = true;
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Rematerialization                                                                            */

static int rematerialization_cost_of(ir_flow *flow, LLVMValueRef value);

static int rematerialization_cost_of_variable(ir_flow *flow, ir_variable *variable) {
  if (variable->storage == IR_STORAGE_GROUP)
    return 1;
  if (variable->rematerialization_cost)
    return variable->rematerialization_cost;
  variable->rematerialization_cost =
      -1; /* while it is being computed: a variable may depend on itself */
  if (variable->is_simple && variable->store_count == 1)
    variable->rematerialization_cost =
        rematerialization_cost_of(flow, LLVMGetOperand(variable->only_store, 0));
  return variable->rematerialization_cost;
}

/* In instructions, at least 1; -1 if not possible, or too expensive. */
static int rematerialization_cost_of(ir_flow *flow, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value))
    return 1;
  if (ir_flow_can_hoist(flow, value))
    return 1; /* stored per group */
  if (ir_flow_calls(value, flow->thread))
    return LLVMIsAConstantInt(LLVMGetOperand(value, 0)) ? 1 : -1;
  ir_variable *loaded = ir_flow_loaded(flow, value);
  if (loaded)
    return rematerialization_cost_of_variable(flow, loaded);
  if (!ir_flow_is_pure(value) || LLVMIsACallInst(value))
    return -1;
  int sum = 1;
  for (int i = 0; i < LLVMGetNumOperands(value); ++i) {
    int more = rematerialization_cost_of(flow, LLVMGetOperand(value, (unsigned)i));
    sum += more;
    if (more < 0 || sum > max_rematerialization_cost)
      return -1;
  }
  return sum;
}

/* ------------------------------------------------------------------------------------------ */
/* Per work-item                                                                                */

static bool is_use(LLVMValueRef instruction, const ir_variable *variable) {
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    if (LLVMGetOperand(instruction, (unsigned)i) == variable->alloca)
      return true;
  }
  return false;
}

/* The first access of the variable in the block: 1 a store, -1 another use, 0 none. */
static int first_use(const ir_block *block, const ir_variable *variable) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i; i = LLVMGetNextInstruction(i)) {
    if (is_use(i, variable))
      return LLVMIsAStoreInst(i) && variable->is_simple ? 1 : -1;
  }
  return 0;
}

/* Whether an iteration of the region may read what an earlier one stored. */
static bool needs_previous_value(const ir_flow *flow, const ir_region *region,
                                 const ir_variable *variable) {
  uint32_t depth = 0, number = flow->blocks[region->entries[0]].region;
  uint32_t *stack = ir_zeroed_alloc(flow->arena, region->block_count + 1, sizeof *stack);
  bool *seen = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *seen);
  for (uint32_t i = 0; i < region->entry_count; ++i) {
    seen[region->entries[i]] = true;
    stack[depth++] = region->entries[i];
  }
  while (depth) {
    const ir_block *block = &flow->blocks[stack[--depth]];
    int use = first_use(block, variable);
    if (use < 0)
      return true;
    for (uint32_t i = 0; use == 0 && i < block->successor_count; ++i) {
      uint32_t to = block->successors[i];
      if (flow->blocks[to].region != number || seen[to])
        continue;
      seen[to] = true;
      stack[depth++] = to;
    }
  }
  return false;
}

static ir_storage storage_of(ir_flow *flow, ir_variable *variable) {
  uint32_t only = IR_FLOW_END;
  for (LLVMUseRef use = LLVMGetFirstUse(variable->alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    uint32_t region = flow->blocks[ir_flow_block_of(flow, user)].region;
    bool is_remade = variable->rematerialization_cost > 0 && LLVMIsALoadInst(user) &&
                     region != flow->blocks[ir_flow_block_of(flow, variable->only_store)].region;
    if (is_remade)
      continue;
    if (only != IR_FLOW_END && only != region)
      return IR_STORAGE_ITEM;
    only = region;
  }
  return only != IR_FLOW_END && needs_previous_value(flow, &flow->regions[only], variable)
             ? IR_STORAGE_ITEM
             : IR_STORAGE_LOOP;
}

void ir_flow_assign_storage(ir_flow *flow) {
  find_group_variables(flow);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ir_block *block = &flow->blocks[b];
    block->has_hoisted_condition = block->condition && ir_flow_can_hoist(flow, block->condition);
  }
  for (uint32_t v = 0; v < flow->variable_count; ++v)
    rematerialization_cost_of_variable(flow, &flow->variables[v]);
  for (uint32_t v = 0; v < flow->variable_count; ++v) {
    if (flow->variables[v].storage != IR_STORAGE_GROUP)
      flow->variables[v].storage = storage_of(flow, &flow->variables[v]);
  }
}
