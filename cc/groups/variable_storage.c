/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where variables are stored.
 *
 * Per group: variables that are uniform, and stored only by code that all work-items run, from
 * values that can be computed before the loop. Per work-item: values that one region leaves for
 * another, unless the other can compute them again from the index and the group's variables. In the
 * loop: the others, which one iteration alone needs.
 */
#include "cc/groups/flow.h"

enum {
  max_rematerialization_cost = 16
}; /* instructions: more than a load costs, less than a load and a store */

/* ------------------------------------------------------------------------------------------ */
/* Per group                                                                                    */

static bool is_unconditional(const ld_flow *flow, uint32_t block) {
  const ld_region *region = &flow->regions[flow->blocks[block].region];
  for (uint32_t i = 0; i < region->unconditional_count; ++i) {
    if (region->unconditional_blocks[i] == block)
      return true;
  }
  return false;
}

bool ld_flow_can_hoist(const ld_flow *flow, LLVMValueRef value) {
  if (LLVMIsAInstruction(value))
    return ld_map_get(&flow->hoisted, value, NULL);
  return true;
}

static bool can_hoist_now(const ld_flow *flow, LLVMValueRef instruction) {
  if (LLVMIsAAllocaInst(instruction) || LLVMIsATerminatorInst(instruction) ||
      ld_flow_is_varying(flow, instruction))
    return false;
  const ld_variable *variable = ld_flow_loaded(flow, instruction);
  if (variable)
    return variable->storage == LD_STORAGE_GROUP;
  if (!LLVMIsALoadInst(instruction) && !ld_flow_is_pure(instruction))
    return false;
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    if (!ld_flow_can_hoist(flow, LLVMGetOperand(instruction, (unsigned)i)))
      return false;
  }
  return true;
}

/* Operands precede their uses in the same block. */
static void find_hoisted(ld_flow *flow) {
  flow->hoisted = (ld_map){.arena = flow->arena};
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    const ld_region *region = &flow->regions[r];
    for (uint32_t i = 0; i < region->unconditional_count; ++i) {
      LLVMBasicBlockRef block = flow->blocks[region->unconditional_blocks[i]].ref;
      for (LLVMValueRef one = LLVMGetFirstInstruction(block); one;
           one = LLVMGetNextInstruction(one)) {
        if (can_hoist_now(flow, one))
          ld_map_set(&flow->hoisted, one, 1);
      }
    }
  }
}

static bool can_be_group_variable(const ld_flow *flow, const ld_variable *variable) {
  for (LLVMUseRef use = LLVMGetFirstUse(variable->alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAStoreInst(user) && (!is_unconditional(flow, ld_flow_block_of(flow, user)) ||
                                   !ld_flow_can_hoist(flow, LLVMGetOperand(user, 0))))
      return false;
  }
  return true;
}

static void find_group_variables(ld_flow *flow) {
  for (uint32_t v = 0; v < flow->variable_count; ++v) {
    ld_variable *variable = &flow->variables[v];
    if (variable->is_simple && !variable->is_varying)
      variable->storage = LD_STORAGE_GROUP;
  }
  for (bool changed = true; changed;) {
    changed = false;
    find_hoisted(flow);
    for (uint32_t v = 0; v < flow->variable_count; ++v) {
      ld_variable *variable = &flow->variables[v];
      if (variable->storage != LD_STORAGE_GROUP || can_be_group_variable(flow, variable))
        continue;
      variable->storage = LD_STORAGE_LOOP;
      changed = true;
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Rematerialization                                                                            */

static int rematerialization_cost_of(ld_flow *flow, LLVMValueRef value);

static int rematerialization_cost_of_variable(ld_flow *flow, ld_variable *variable) {
  if (variable->storage == LD_STORAGE_GROUP)
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
static int rematerialization_cost_of(ld_flow *flow, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value))
    return 1;
  if (ld_flow_can_hoist(flow, value))
    return 1; /* stored per group */
  if (ld_flow_calls(value, flow->thread))
    return LLVMIsAConstantInt(LLVMGetOperand(value, 0)) ? 1 : -1;
  ld_variable *loaded = ld_flow_loaded(flow, value);
  if (loaded)
    return rematerialization_cost_of_variable(flow, loaded);
  if (!ld_flow_is_pure(value) || LLVMIsACallInst(value))
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

static bool is_use(LLVMValueRef instruction, const ld_variable *variable) {
  for (int i = 0; i < LLVMGetNumOperands(instruction); ++i) {
    if (LLVMGetOperand(instruction, (unsigned)i) == variable->alloca)
      return true;
  }
  return false;
}

/* The first access of the variable in the block: 1 a store, -1 another use, 0 none. */
static int first_use(const ld_block *block, const ld_variable *variable) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block->ref); i; i = LLVMGetNextInstruction(i)) {
    if (is_use(i, variable))
      return LLVMIsAStoreInst(i) && variable->is_simple ? 1 : -1;
  }
  return 0;
}

/* Whether an iteration of the region may read what an earlier one stored. */
static bool needs_previous_value(const ld_flow *flow, const ld_region *region,
                                 const ld_variable *variable) {
  uint32_t depth = 0, number = flow->blocks[region->entries[0]].region;
  uint32_t *stack = ld_zeroed_alloc(flow->arena, region->block_count + 1, sizeof *stack);
  bool *seen = ld_zeroed_alloc(flow->arena, flow->block_count, sizeof *seen);
  for (uint32_t i = 0; i < region->entry_count; ++i) {
    seen[region->entries[i]] = true;
    stack[depth++] = region->entries[i];
  }
  while (depth) {
    const ld_block *block = &flow->blocks[stack[--depth]];
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

static ld_storage storage_of(ld_flow *flow, ld_variable *variable) {
  uint32_t only = LD_FLOW_END;
  for (LLVMUseRef use = LLVMGetFirstUse(variable->alloca); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    uint32_t region = flow->blocks[ld_flow_block_of(flow, user)].region;
    bool is_remade = variable->rematerialization_cost > 0 && LLVMIsALoadInst(user) &&
                     region != flow->blocks[ld_flow_block_of(flow, variable->only_store)].region;
    if (is_remade)
      continue;
    if (only != LD_FLOW_END && only != region)
      return LD_STORAGE_ITEM;
    only = region;
  }
  return only != LD_FLOW_END && needs_previous_value(flow, &flow->regions[only], variable)
             ? LD_STORAGE_ITEM
             : LD_STORAGE_LOOP;
}

void ld_flow_assign_storage(ld_flow *flow) {
  find_group_variables(flow);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ld_block *block = &flow->blocks[b];
    block->has_hoisted_condition = block->condition && ld_flow_can_hoist(flow, block->condition);
  }
  for (uint32_t v = 0; v < flow->variable_count; ++v)
    rematerialization_cost_of_variable(flow, &flow->variables[v]);
  for (uint32_t v = 0; v < flow->variable_count; ++v) {
    if (flow->variables[v].storage != LD_STORAGE_GROUP)
      flow->variables[v].storage = storage_of(flow, &flow->variables[v]);
  }
}
