/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code after a loop over work-items. If work-items may leave the region for different blocks,
 * the loop collects the exit of each one, and the group aborts with a message if they differ,
 * because one of the exits leads to a barrier.
 */
#include "compiler/ir/groups/loops.h"
#include "tools/common/memory.h"

#include <kdl/host_abi.h>

#include <stddef.h>

/* ------------------------------------------------------------------------------------------ */
/* Entries of regions                                                                           */

LLVMBasicBlockRef ir_loops_entry_of(const ir_loops *loops, LLVMBasicBlockRef block) {
  const ir_flow *flow = loops->flow;
  uint32_t b = 0;
  ir_map_get(&flow->block_numbers, block, &b);
  const ir_region *region = &flow->regions[flow->blocks[b].region];
  const ir_loop *loop = &loops->loops[flow->blocks[b].region];
  if (region->is_barrier)
    return block;
  uint32_t entry = 0;
  while (entry + 1 < region->entry_count && region->entries[entry] != b)
    ++entry;
  return loop->entry_blocks ? loop->entry_blocks[entry] : loop->preheader;
}

static void redirect_branch(const ir_loops *loops, LLVMValueRef branch) {
  for (unsigned i = 0; i < LLVMGetNumSuccessors(branch); ++i)
    LLVMSetSuccessor(branch, i, ir_loops_entry_of(loops, LLVMGetSuccessor(branch, i)));
}

/* Ends the group: the launch fails with the message. A runtime without that ends the program. */
void ir_loops_emit_abort(ir_loops *loops, const char *message) {
  LLVMBasicBlockRef ask = ir_loops_add_block(loops, "kdl.ask"),
                    tell = ir_loops_add_block(loops, "kdl.tell");
  LLVMBasicBlockRef end = ir_loops_add_block(loops, "kdl.stop");
  LLVMTypeRef pointer = LLVMPointerTypeInContext(loops->context, 0);
  LLVMTypeRef nothing = LLVMFunctionType(LLVMVoidTypeInContext(loops->context), NULL, 0, false);
  LLVMValueRef size = ir_loops_load_field(loops, loops->i32, offsetof(kdl_host_group, size), 4);
  LLVMBuildCondBr(loops->builder,
                  LLVMBuildICmp(loops->builder, LLVMIntUGE, size,
                                ir_loops_const_i32(loops, sizeof(kdl_host_group)), ""),
                  ask, end);
  LLVMPositionBuilderAtEnd(loops->builder, ask);
  LLVMValueRef at = ir_loops_load_field(loops, pointer, offsetof(kdl_host_group, error), 8);
  LLVMBuildCondBr(loops->builder, LLVMBuildIsNull(loops->builder, at, ""), end, tell);
  LLVMPositionBuilderAtEnd(loops->builder, tell);
  LLVMValueRef words = LLVMBuildGlobalStringPtr(loops->builder, message, "kdl.message");
  LLVMValueRef store = LLVMBuildStore(loops->builder, words, at);
  LLVMSetAlignment(store, 8);
  LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
  LLVMBuildRetVoid(loops->builder);
  LLVMPositionBuilderAtEnd(loops->builder, end);
  LLVMValueRef trap = LLVMGetIntrinsicDeclaration(loops->flow->module,
                                                  LLVMLookupIntrinsicID("llvm.trap", 9), NULL, 0);
  LLVMBuildCall2(loops->builder, nothing, trap, NULL, 0, "");
  LLVMBuildUnreachable(loops->builder);
}

/* ------------------------------------------------------------------------------------------ */
/* Votes                                                                                        */

/* The votes of a group's work-items: the bits that all of them set, and those that some set. */
typedef struct {
  LLVMTypeRef type;
  LLVMValueRef all, some;
} votes;

static votes open_votes(ir_loops *loops, const ir_loop *loop, LLVMTypeRef type) {
  LLVMPositionBuilderBefore(loops->builder, LLVMGetFirstInstruction(loops->entry));
  votes v = {type, LLVMBuildAlloca(loops->builder, type, ""),
             LLVMBuildAlloca(loops->builder, type, "")};
  LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
  LLVMBuildStore(loops->builder, LLVMConstAllOnes(type), v.all);
  LLVMBuildStore(loops->builder, LLVMConstNull(type), v.some);
  return v;
}

/* Adds the vote of one work-item, at the builder. */
static void vote(ir_loops *loops, votes v, LLVMValueRef decision) {
  LLVMBuilderRef builder = loops->builder;
  LLVMBuildStore(builder,
                 LLVMBuildAnd(builder, LLVMBuildLoad2(builder, v.type, v.all, ""), decision, ""),
                 v.all);
  LLVMBuildStore(builder,
                 LLVMBuildOr(builder, LLVMBuildLoad2(builder, v.type, v.some, ""), decision, ""),
                 v.some);
}

/* The common vote, after the loop; aborts the group if they differ. */
static LLVMValueRef count_votes(ir_loops *loops, const ir_loop *loop, votes v,
                                const char *message) {
  LLVMPositionBuilderAtEnd(loops->builder, loop->after);
  LLVMValueRef agreed = LLVMBuildLoad2(loops->builder, v.type, v.all, "");
  LLVMValueRef differ = LLVMBuildICmp(loops->builder, LLVMIntNE, agreed,
                                      LLVMBuildLoad2(loops->builder, v.type, v.some, ""), "");
  LLVMBasicBlockRef stopping = ir_loops_add_block(loops, "kdl.differ"),
                    on = ir_loops_add_block(loops, "kdl.agree");
  LLVMBuildCondBr(loops->builder, differ, stopping, on);
  LLVMPositionBuilderAtEnd(loops->builder, stopping);
  ir_loops_emit_abort(loops, message);
  LLVMPositionBuilderAtEnd(loops->builder, on);
  return agreed;
}

/* Names a branch of the region that controls a barrier, and that barrier. */
static const char *divergence_message(const ir_flow *flow, const ir_region *region) {
  LLVMValueRef branch = NULL, barrier = NULL;
  for (uint32_t k = 0; k < region->block_count && !barrier; ++k) {
    const ir_block *block = &flow->blocks[region->blocks[k]];
    bool decides = block->controls_barrier && !block->has_hoisted_condition;
    if (decides)
      branch = LLVMGetBasicBlockTerminator(block->ref);
    for (uint32_t b = 0; b < flow->block_count && decides && !barrier; ++b) {
      if (block->control_dependents[b] && flow->blocks[b].is_barrier)
        barrier = LLVMGetFirstInstruction(flow->blocks[b].ref);
    }
  }
  const char *where = barrier ? ir_flow_location(flow, barrier) : NULL;
  return xarena_format(flow->arena,
                       "%s: work-items of a group differ in whether they come to the barrier "
                       "(__gpu_sync_threads)%s%s; expected all of them to",
                       ir_flow_kernel_at(flow, branch), where ? " at " : "", where ? where : "");
}

/* ------------------------------------------------------------------------------------------ */
/* The end of a region                                                                          */

/* Orders the accesses of one region before those of the next. The marks on the loop do not cover
 * that: when LLVM unrolls a loop, it moves the mark to the branch of the enclosing loop, and would
 * then treat the iterations of that one as independent. Emits no instruction. */
static void emit_memory_clobber(ir_loops *loops) {
  static const char clobbers[] = "~{memory}";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(loops->context), NULL, 0, false);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, clobbers, sizeof clobbers - 1, true, false,
                                          LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(loops->builder, type, nothing, NULL, 0, "");
}

/* A branch that all work-items of the group take together. */
static void emit_uniform_exit(ir_loops *loops, const ir_loop *loop, const ir_region *region,
                              const ir_block *block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ref), decision = LLVMGetOperand(end, 0);
  LLVMPositionBuilderAtEnd(loops->builder, loop->after);
  if (!block->has_hoisted_condition) {
    const char *message = divergence_message(loops->flow, region);
    votes v = open_votes(loops, loop, LLVMTypeOf(decision));
    LLVMPositionBuilderBefore(loops->builder, end);
    vote(loops, v, decision);
    decision = count_votes(loops, loop, v, message);
  }
  LLVMInstructionRemoveFromParent(end);
  LLVMInsertIntoBuilder(loops->builder, end);
  LLVMSetOperand(end, 0, decision);
  redirect_branch(loops, end);
  LLVMPositionBuilderAtEnd(loops->builder, block->ref);
  LLVMBuildBr(loops->builder, loop->latch);
}

/* The exits of a region: blocks of other regions, or NULL for the end of the function. */
typedef struct {
  LLVMBasicBlockRef *to, *from; /* `from`: the block in the loop that stands for the exit */
  uint32_t count;
} exits;

static uint32_t find_exit(exits *e, LLVMBasicBlockRef to) {
  uint32_t i = 0;
  while (i < e->count && e->to[i] != to)
    ++i;
  if (i == e->count)
    e->to[e->count++] = to;
  return i;
}

static bool leaves_region(const ir_flow *flow, uint32_t number, LLVMBasicBlockRef to) {
  uint32_t b;
  return ir_map_get(&flow->block_numbers, to, &b) && flow->blocks[b].region != number;
}

static exits find_exits(const ir_loops *loops, uint32_t number) {
  const ir_flow *flow = loops->flow;
  const ir_region *region = &flow->regions[number];
  exits e = {.to = ir_zeroed_alloc(flow->arena, flow->block_count + 1, sizeof *e.to),
             .from = ir_zeroed_alloc(flow->arena, flow->block_count + 1, sizeof *e.from)};
  for (uint32_t k = 0; k < region->block_count; ++k) {
    const ir_block *block = &flow->blocks[region->blocks[k]];
    if (block->is_uniform_exit)
      continue;
    if (ir_flow_returns(block))
      find_exit(&e, NULL);
    for (uint32_t i = 0; i < block->successor_count; ++i) {
      LLVMBasicBlockRef to = flow->blocks[block->successors[i]].ref;
      if (leaves_region(flow, number, to))
        find_exit(&e, to);
    }
  }
  return e;
}

static void redirect_exits(ir_loops *loops, uint32_t number, exits *e) {
  const ir_flow *flow = loops->flow;
  const ir_region *region = &flow->regions[number];
  for (uint32_t k = 0; k < region->block_count; ++k) {
    const ir_block *block = &flow->blocks[region->blocks[k]];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ref);
    if (block->is_uniform_exit)
      continue;
    if (ir_flow_returns(block)) {
      LLVMInstructionEraseFromParent(end);
      LLVMPositionBuilderAtEnd(loops->builder, block->ref);
      LLVMBuildBr(loops->builder, e->from[find_exit(e, NULL)]);
      continue;
    }
    for (uint32_t i = 0; i < LLVMGetNumSuccessors(end); ++i) {
      LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
      if (leaves_region(flow, number, to))
        LLVMSetSuccessor(end, i, e->from[find_exit(e, to)]);
    }
  }
}

/* Branches from the builder's block. */
static void branch_to(ir_loops *loops, LLVMBasicBlockRef to) {
  if (to)
    LLVMBuildBr(loops->builder, ir_loops_entry_of(loops, to));
  else
    LLVMBuildRetVoid(loops->builder);
}

/* Several exits: all work-items take the same one, or the group aborts. */
static void emit_checked_exits(ir_loops *loops, uint32_t number, exits *e) {
  const ir_loop *loop = &loops->loops[number];
  LLVMTypeRef type = loops->i32;
  const char *message = divergence_message(loops->flow, &loops->flow->regions[number]);
  votes v = open_votes(loops, loop, type);
  for (uint32_t i = 0; i < e->count; ++i) {
    e->from[i] = ir_loops_add_block(loops, "kdl.exit");
    LLVMPositionBuilderAtEnd(loops->builder, e->from[i]);
    vote(loops, v, LLVMConstInt(type, i, false));
    LLVMBuildBr(loops->builder, loop->latch);
  }
  redirect_exits(loops, number, e);
  LLVMValueRef agreed = count_votes(loops, loop, v, message);
  LLVMBasicBlockRef none = ir_loops_add_block(loops, "kdl.none");
  LLVMValueRef end = LLVMBuildSwitch(loops->builder, agreed, none, e->count);
  for (uint32_t i = 0; i < e->count; ++i) {
    LLVMBasicBlockRef way = ir_loops_add_block(loops, "kdl.out");
    LLVMAddCase(end, LLVMConstInt(type, i, false), way);
    LLVMPositionBuilderAtEnd(loops->builder, way);
    branch_to(loops, e->to[i]);
  }
  LLVMPositionBuilderAtEnd(loops->builder, none);
  LLVMBuildUnreachable(loops->builder);
}

void ir_loops_emit_exits(ir_loops *loops, uint32_t number) {
  const ir_flow *flow = loops->flow;
  const ir_region *region = &flow->regions[number];
  ir_loop *loop = &loops->loops[number];
  if (region->is_barrier) {
    redirect_branch(loops, LLVMGetBasicBlockTerminator(flow->blocks[region->entries[0]].ref));
    return;
  }
  LLVMPositionBuilderAtEnd(loops->builder, loop->after);
  emit_memory_clobber(loops);
  exits e = find_exits(loops, number);
  if (region->last != IR_FLOW_END && flow->blocks[region->last].is_uniform_exit) {
    emit_uniform_exit(loops, loop, region, &flow->blocks[region->last]);
  } else if (e.count > 1) {
    emit_checked_exits(loops, number, &e);
  } else if (e.count == 1) {
    e.from[0] = loop->latch;
    redirect_exits(loops, number, &e);
    LLVMPositionBuilderAtEnd(loops->builder, loop->after);
    branch_to(loops, e.to[0]);
  } else { /* no work-item leaves the region */
    LLVMPositionBuilderAtEnd(loops->builder, loop->after);
    LLVMBuildUnreachable(loops->builder);
  }
  LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
  LLVMBuildBr(loops->builder, loop->first);
}
