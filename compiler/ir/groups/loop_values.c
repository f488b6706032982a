/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "compiler/ir/groups/loops.h"

static uint32_t variable_index(const ir_loops *loops, const ir_variable *variable) {
  return (uint32_t)(variable - loops->flow->variables);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables of work-items                                                                      */

/* The type in memory, where single bits are bytes. */
static LLVMTypeRef stored_type(const ir_loops *loops, LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1 ? loops->i8
                                                                                        : type;
}

static uint64_t stride_of(const ir_loops *loops, const ir_variable *variable) {
  uint64_t size = LLVMABISizeOfType(loops->layout, stored_type(loops, variable->type));
  uint64_t align = variable->is_simple
                       ? LLVMABIAlignmentOfType(loops->layout, stored_type(loops, variable->type))
                       : LLVMGetAlignment(variable->alloca);
  return (size + align - 1) / align * align;
}

uint64_t ir_loops_bytes_per_item(const ir_loops *loops) {
  const ir_flow *flow = loops->flow;
  uint64_t sum = 0;
  for (uint32_t v = 0; v < flow->variable_count; ++v)
    sum +=
        flow->variables[v].storage == IR_STORAGE_ITEM ? stride_of(loops, &flow->variables[v]) : 0;
  return sum;
}

void ir_loops_allocate(ir_loops *loops) {
  ir_flow *flow = loops->flow;
  for (uint32_t v = 0; v < flow->variable_count; ++v) {
    ir_variable *variable = &flow->variables[v];
    if (variable->storage != IR_STORAGE_ITEM)
      continue;
    uint64_t stride = stride_of(loops, variable);
    unsigned align = LLVMGetAlignment(variable->alloca);
    LLVMValueRef bytes =
        LLVMBuildMul(loops->builder, loops->count, LLVMConstInt(loops->i64, stride, false), "");
    if (LLVMIsConstant(loops->count))
      variable->memory = LLVMBuildAlloca(
          loops->builder, LLVMArrayType2(loops->i8, LLVMConstIntGetZExtValue(bytes)), "kdl.items");
    else
      variable->memory = LLVMBuildArrayAlloca(loops->builder, loops->i8, bytes, "kdl.items");
    LLVMSetAlignment(variable->memory, align > 64 ? align : 64);
  }
}

/* The address of this work-item's element, in the body of a region's loop. */
static LLVMValueRef item_address(ir_loops *loops, ir_loop *loop, uint32_t number) {
  const ir_variable *variable = &loops->flow->variables[number];
  if (!loop->item_addresses[number]) {
    LLVMPositionBuilderBefore(loops->builder, loop->body_end);
    LLVMValueRef offset =
        LLVMBuildNUWMul(loops->builder, loop->index,
                        LLVMConstInt(loops->i64, stride_of(loops, variable), false), "");
    loop->item_addresses[number] =
        LLVMBuildInBoundsGEP2(loops->builder, loops->i8, variable->memory, &offset, 1, "");
  }
  return loop->item_addresses[number];
}

/* A full load or store of a per-item variable. */
static void rewrite_access(ir_loops *loops, LLVMValueRef instruction, const ir_variable *variable,
                           LLVMValueRef pointer) {
  LLVMTypeRef type = stored_type(loops, variable->type);
  unsigned align = LLVMABIAlignmentOfType(loops->layout, type);
  bool is_load = LLVMIsALoadInst(instruction);
  LLVMSetOperand(instruction, is_load ? 0 : 1, pointer);
  LLVMSetAlignment(instruction, align);
  if (type == variable->type)
    return;
  LLVMPositionBuilderBefore(loops->builder, instruction);
  LLVMValueRef made;
  if (is_load) {
    made = LLVMBuildLoad2(loops->builder, type, pointer, "");
    LLVMSetAlignment(made, align);
    made = LLVMBuildTrunc(loops->builder, made, variable->type, "");
    LLVMReplaceAllUsesWith(instruction, made);
  } else {
    made = LLVMBuildZExt(loops->builder, LLVMGetOperand(instruction, 0), type, "");
    made = LLVMBuildStore(loops->builder, made, pointer);
    LLVMSetAlignment(made, align);
  }
  LLVMInstructionEraseFromParent(instruction);
}

/* ------------------------------------------------------------------------------------------ */
/* Variables of the group                                                                       */

static LLVMValueRef group_value_at_entry(ir_loops *loops, ir_loop *loop, uint32_t number) {
  if (!loop->entry_values[number]) {
    const ir_variable *variable = &loops->flow->variables[number];
    LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
    loop->entry_values[number] =
        LLVMBuildLoad2(loops->builder, variable->type, variable->alloca, "");
  }
  return loop->entry_values[number];
}

static LLVMValueRef group_value(ir_loops *loops, ir_loop *loop, uint32_t number) {
  return loop->current_values[number] ? loop->current_values[number]
                                      : group_value_at_entry(loops, loop, number);
}

static void replace_group_loads(ir_loops *loops, ir_loop *loop, LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    ir_variable *loaded = ir_flow_loaded(loops->flow, i);
    if (!loaded || loaded->storage != IR_STORAGE_GROUP)
      continue;
    LLVMReplaceAllUsesWith(i, group_value(loops, loop, variable_index(loops, loaded)));
    LLVMInstructionEraseFromParent(i);
  }
}

static ir_saved_value *find_saved_value(const ir_loops *loops, LLVMValueRef value) {
  ir_saved_value *kept = loops->saved_values;
  while (kept && kept->value != value)
    kept = kept->next;
  return kept;
}

static void hoist_block(ir_loops *loops, ir_loop *loop, LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    ir_variable *loaded = ir_flow_loaded(loops->flow, i);
    ir_variable *stored = ir_flow_stored(loops->flow, i);
    if (loaded && loaded->storage == IR_STORAGE_GROUP) {
      LLVMReplaceAllUsesWith(i, group_value(loops, loop, variable_index(loops, loaded)));
      LLVMInstructionEraseFromParent(i);
    } else if (stored && stored->storage == IR_STORAGE_GROUP) {
      loop->current_values[variable_index(loops, stored)] = LLVMGetOperand(i, 0);
      LLVMInstructionEraseFromParent(i);
    } else if (ir_flow_can_hoist(loops->flow, i)) {
      LLVMInstructionRemoveFromParent(i);
      LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
      LLVMInsertIntoBuilder(loops->builder, i);
      const ir_saved_value *kept = find_saved_value(loops, i);
      if (kept)
        LLVMBuildStore(loops->builder, i, kept->storage);
    }
  }
}

/* By block: 1 + the index of the last unconditional block before it, or 0 for none. */
static uint32_t *find_preceding_blocks(const ir_loops *loops, const ir_region *region) {
  const ir_flow *flow = loops->flow;
  uint32_t *turns = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *turns);
  for (uint32_t k = 0; k < region->unconditional_count; ++k)
    turns[region->unconditional_blocks[k]] = k + 1;
  for (uint32_t k = 0; k < region->unconditional_count; ++k)
    ir_flow_mark_reachable(flow, region->unconditional_blocks[k], k + 1, turns);
  return turns;
}

static void hoist_region(ir_loops *loops, ir_loop *loop, const ir_region *region) {
  const ir_flow *flow = loops->flow;
  const uint32_t *turns = find_preceding_blocks(loops, region);
  for (uint32_t turn = 0; turn <= region->unconditional_count; ++turn) {
    if (turn)
      hoist_block(loops, loop, flow->blocks[region->unconditional_blocks[turn - 1]].ref);
    for (uint32_t k = 0; k < region->block_count; ++k) {
      uint32_t b = region->blocks[k];
      if (turns[b] == turn && (turn == 0 || b != region->unconditional_blocks[turn - 1]))
        replace_group_loads(loops, loop, flow->blocks[b].ref);
    }
  }
}

static void save_group_values(ir_loops *loops, ir_loop *loop) {
  LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
  for (uint32_t v = 0; v < loops->flow->variable_count; ++v) {
    if (loop->current_values[v])
      LLVMBuildStore(loops->builder, loop->current_values[v], loops->flow->variables[v].alloca);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Rematerialization                                                                            */

static LLVMValueRef load_saved_value(ir_loops *loops, ir_loop *loop, LLVMValueRef value) {
  const ir_flow *flow = loops->flow;
  ir_saved_value *kept = find_saved_value(loops, value);
  if (!kept) {
    kept = ir_zeroed_alloc(flow->arena, 1, sizeof *kept);
    LLVMPositionBuilderBefore(loops->builder, LLVMGetFirstInstruction(loops->entry));
    *kept =
        (ir_saved_value){.value = value,
                         .storage = LLVMBuildAlloca(loops->builder, LLVMTypeOf(value), ""),
                         .at = ir_zeroed_alloc(flow->arena, flow->region_count, sizeof *kept->at),
                         .next = loops->saved_values};
    loops->saved_values = kept;
  }
  LLVMValueRef *at = &kept->at[loop - loops->loops];
  if (!*at) {
    LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
    *at = LLVMBuildLoad2(loops->builder, LLVMTypeOf(value), kept->storage, "");
  }
  return *at;
}

static LLVMValueRef rematerialize_value(ir_loops *loops, ir_loop *loop, LLVMValueRef value);

static LLVMValueRef rematerialize_variable(ir_loops *loops, ir_loop *loop,
                                           const ir_variable *variable) {
  uint32_t number = variable_index(loops, variable);
  if (variable->storage == IR_STORAGE_GROUP)
    return group_value_at_entry(loops, loop, number);
  if (!loop->rematerialized[number])
    loop->rematerialized[number] =
        rematerialize_value(loops, loop, LLVMGetOperand(variable->only_store, 0));
  return loop->rematerialized[number];
}

static LLVMValueRef rematerialize_value(ir_loops *loops, ir_loop *loop, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value))
    return value;
  if (ir_flow_calls(value, loops->flow->thread))
    return loop->thread[LLVMConstIntGetZExtValue(LLVMGetOperand(value, 0)) % 3];
  const ir_variable *loaded = ir_flow_loaded(loops->flow, value);
  if (loaded)
    return rematerialize_variable(loops, loop, loaded);
  if (ir_flow_can_hoist(loops->flow, value))
    return load_saved_value(loops, loop, value);
  unsigned count = (unsigned)LLVMGetNumOperands(value);
  LLVMValueRef clone = LLVMInstructionClone(value);
  for (unsigned i = 0; i < count; ++i)
    LLVMSetOperand(clone, i, rematerialize_value(loops, loop, LLVMGetOperand(value, i)));
  LLVMPositionBuilderBefore(loops->builder, loop->body_end);
  LLVMInsertIntoBuilder(loops->builder, clone);
  return clone;
}

/* The variable of a load that variable_storage.c leaves to rematerialization; else NULL. */
static const ir_variable *rematerialized_variable(const ir_flow *flow, LLVMValueRef load) {
  const ir_variable *variable = ir_flow_loaded(flow, load);
  if (!variable || variable->storage == IR_STORAGE_GROUP || variable->rematerialization_cost <= 0)
    return NULL;
  uint32_t here = flow->blocks[ir_flow_block_of(flow, load)].region;
  uint32_t there = flow->blocks[ir_flow_block_of(flow, variable->only_store)].region;
  return here != there ? variable : NULL;
}

static void for_each_rematerialized_load(ir_loops *loops,
                                         void (*visit)(ir_loops *loops, ir_loop *loop,
                                                       LLVMValueRef load, const ir_variable *)) {
  const ir_flow *flow = loops->flow;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(flow->blocks[b].ref), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      const ir_variable *variable = rematerialized_variable(flow, i);
      if (variable)
        visit(loops, &loops->loops[flow->blocks[b].region], i, variable);
    }
  }
}

static void rematerialize_load(ir_loops *loops, ir_loop *loop, LLVMValueRef load,
                               const ir_variable *variable) {
  (void)load;
  rematerialize_variable(loops, loop, variable);
}

static void replace_load(ir_loops *loops, ir_loop *loop, LLVMValueRef load,
                         const ir_variable *variable) {
  LLVMReplaceAllUsesWith(load, loop->rematerialized[variable_index(loops, variable)]);
  LLVMInstructionEraseFromParent(load);
}

/* All values are computed before any is used, because they are computed from the original
 * function. */
void ir_loops_rematerialize(ir_loops *loops) {
  for_each_rematerialized_load(loops, rematerialize_load);
  for_each_rematerialized_load(loops, replace_load);
}

/* ------------------------------------------------------------------------------------------ */
/* A region                                                                                     */

static void replace_thread(ir_loops *loops, ir_loop *loop, LLVMValueRef call) {
  LLVMValueRef direction = LLVMGetOperand(call, 0);
  LLVMValueRef value = LLVMConstInt(loops->i32, 0, false);
  LLVMPositionBuilderBefore(loops->builder, call);
  for (unsigned d = 0; d < 3; ++d) {
    LLVMValueRef is =
        LLVMBuildICmp(loops->builder, LLVMIntEQ, direction, LLVMConstInt(loops->i32, d, false), "");
    value = LLVMIsConstant(is) ? (LLVMConstIntGetZExtValue(is) ? loop->thread[d] : value)
                               : LLVMBuildSelect(loops->builder, is, loop->thread[d], value, "");
  }
  LLVMReplaceAllUsesWith(call, value);
  LLVMInstructionEraseFromParent(call);
}

static void replace_addresses(ir_loops *loops, ir_loop *loop, LLVMValueRef instruction) {
  for (int k = 0; k < LLVMGetNumOperands(instruction); ++k) {
    const ir_variable *variable =
        ir_flow_variable(loops->flow, LLVMGetOperand(instruction, (unsigned)k));
    if (variable && variable->storage == IR_STORAGE_ITEM)
      LLVMSetOperand(instruction, (unsigned)k,
                     item_address(loops, loop, variable_index(loops, variable)));
  }
}

/* Marks an access that a loop over work-items may do in any order: different work-items access
 * different addresses, or neither writes what the other accesses before the next barrier. */
static void mark_access(ir_loops *loops, LLVMValueRef instruction) {
  bool is_load = LLVMIsALoadInst(instruction), is_store = LLVMIsAStoreInst(instruction);
  if (!is_load && !is_store)
    return;
  LLVMValueRef pointer = LLVMGetOperand(instruction, is_load ? 0 : 1);
  while (LLVMIsAGetElementPtrInst(pointer))
    pointer = LLVMGetOperand(pointer, 0);
  if (LLVMIsAAllocaInst(pointer) && ir_flow_variable(loops->flow, pointer))
    return; /* one for all iterations */
  LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(loops->context, "llvm.access.group", 17),
                  loops->access_group);
}

void ir_loops_rewrite_values(ir_loops *loops, uint32_t number) {
  const ir_flow *flow = loops->flow;
  const ir_region *region = &flow->regions[number];
  ir_loop *loop = &loops->loops[number];
  hoist_region(loops, loop, region);
  for (uint32_t k = 0; k < region->block_count; ++k) {
    LLVMBasicBlockRef block = flow->blocks[region->blocks[k]].ref;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
      next = LLVMGetNextInstruction(i);
      const ir_variable *loaded = ir_flow_loaded(flow, i), *stored = ir_flow_stored(flow, i);
      const ir_variable *whole = loaded ? loaded : stored;
      if (whole && whole->storage == IR_STORAGE_ITEM)
        rewrite_access(loops, i, whole, item_address(loops, loop, variable_index(loops, whole)));
      else if (ir_flow_calls(i, flow->thread))
        replace_thread(loops, loop, i);
      else
        replace_addresses(loops, loop, i);
    }
  }
  save_group_values(loops, loop);
}

void ir_loops_mark_accesses(ir_loops *loops, uint32_t number) {
  const ir_region *region = &loops->flow->regions[number];
  for (uint32_t k = 0; k < region->block_count; ++k) {
    LLVMBasicBlockRef block = loops->flow->blocks[region->blocks[k]].ref;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
      mark_access(loops, i);
  }
}
