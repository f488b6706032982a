/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The function for a group. Each region becomes
 *
 *     before:   what is the same for all work-items
 *     loop:     over z, y and x, with the region's blocks as they were inside
 *     after:    the branch to the next region, which all work-items take together
 *
 * Where a branch that decides about a barrier is not known to be the same for all, the loop
 * collects what each work-item decides, and the group is stopped with a message where they differ.
 */
#include "groups/loops.h"

#include <kdl/host_abi.h>

#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { most_on_stack = 256 << 10 };

static LLVMValueRef word(const ld_loops *loops, uint64_t value) {
  return LLVMConstInt(loops->i32, value, false);
}

/* ------------------------------------------------------------------------------------------ */
/* The beginning                                                                                */

static LLVMValueRef load_field(ld_loops *loops, LLVMTypeRef type, size_t offset, unsigned align) {
  LLVMValueRef index = LLVMConstInt(loops->i64, offset, false);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(loops->builder, loops->i8,
                                          LLVMGetParam(loops->flow->function, 0), &index, 1, "");
  LLVMValueRef value = LLVMBuildLoad2(loops->builder, type, at, "");
  LLVMSetAlignment(value, align);
  return value;
}

static void move_variables(ld_loops *loops) {
  LLVMBasicBlockRef old = loops->flow->blocks[0].ref;
  for (LLVMValueRef i = LLVMGetFirstInstruction(old), next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    if (!LLVMIsAAllocaInst(i))
      continue;
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(loops->builder, i);
  }
}

static void begin(ld_loops *loops) {
  const ld_flow *flow = loops->flow;
  const uint32_t *block = flow->kernel->block;
  loops->entry = LLVMInsertBasicBlockInContext(loops->context, flow->blocks[0].ref, "kdl.begin");
  LLVMPositionBuilderAtEnd(loops->builder, loops->entry);
  move_variables(loops);
  for (unsigned d = 0; d < 3; ++d)
    loops->extent[d] = block[0] ? word(loops, block[d])
                                : load_field(loops, loops->i32,
                                             offsetof(kdl_host_group, block) + 4 * (size_t)d, 4);
  loops->count = LLVMConstInt(loops->i64, 1, false);
  for (unsigned d = 0; d < 3; ++d)
    loops->count =
        LLVMBuildNUWMul(loops->builder, loops->count,
                        LLVMBuildZExt(loops->builder, loops->extent[d], loops->i64, ""), "");
}

/* ------------------------------------------------------------------------------------------ */
/* The blocks of a loop                                                                         */

static LLVMBasicBlockRef add_block(const ld_loops *loops, const char *name) {
  return LLVMAppendBasicBlockInContext(loops->context, loops->flow->function, name);
}

static LLVMValueRef text(const ld_loops *loops, const char *words) {
  return LLVMMetadataAsValue(loops->context,
                             LLVMMDStringInContext2(loops->context, words, strlen(words)));
}

static LLVMMetadataRef node(const ld_loops *loops, LLVMMetadataRef *items, size_t count) {
  return LLVMMDNodeInContext2(loops->context, items, count);
}

/* The accesses of the loop's body may be done in any order. */
static void mark_loop(const ld_loops *loops, LLVMValueRef branch) {
  LLVMMetadataRef parallel[] = {LLVMValueAsMetadata(text(loops, "llvm.loop.parallel_accesses")),
                                LLVMValueAsMetadata(loops->access_group)};
  LLVMMetadataRef self = LLVMTemporaryMDNode(loops->context, NULL, 0);
  LLVMMetadataRef items[] = {self, node(loops, parallel, 2)};
  LLVMMetadataRef whole = node(loops, items, 2);
  LLVMMetadataReplaceAllUsesWith(self, whole);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(loops->context, "llvm.loop", 9),
                  LLVMMetadataAsValue(loops->context, whole));
}

/* A direction of one work-item needs no loop; and one that folds away would leave its mark on the
 * branch of a loop around it, whose turns are not free of one another. */
static bool is_single(LLVMValueRef extent) {
  return LLVMIsAConstantInt(extent) && LLVMConstIntGetZExtValue(extent) == 1;
}

/* One direction, from where the builder is. */
static void begin_turn(ld_loops *loops, ld_loop *loop, unsigned d) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(loops->builder);
  LLVMValueRef none = word(loops, 0);
  loop->thread[d] = none;
  if (is_single(loops->extent[d]))
    return;
  loop->turns[d] = add_block(loops, "kdl.item");
  LLVMBuildBr(loops->builder, loop->turns[d]);
  LLVMPositionBuilderAtEnd(loops->builder, loop->turns[d]);
  loop->thread[d] = LLVMBuildPhi(loops->builder, loops->i32, "");
  LLVMAddIncoming(loop->thread[d], &none, &before, 1);
}

static void end_turn(ld_loops *loops, ld_loop *loop, unsigned d) {
  if (is_single(loops->extent[d]))
    return;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(loops->builder);
  LLVMBasicBlockRef after = add_block(loops, "kdl.row");
  LLVMValueRef next = LLVMBuildNUWAdd(loops->builder, loop->thread[d], word(loops, 1), "");
  LLVMAddIncoming(loop->thread[d], &next, &here, 1);
  LLVMValueRef more = LLVMBuildICmp(loops->builder, LLVMIntULT, next, loops->extent[d], "");
  loop->ends[d] = LLVMBuildCondBr(loops->builder, more, loop->turns[d], after);
  LLVMPositionBuilderAtEnd(loops->builder, after);
}

static LLVMValueRef wide(ld_loops *loops, LLVMValueRef value) {
  return LLVMBuildZExt(loops->builder, value, loops->i64, "");
}

/* The end of the block that begins the body: where there are several entries, the group says which
 * one it takes. */
static LLVMValueRef enter(ld_loops *loops, ld_loop *loop, const ld_region *region) {
  const ld_flow *flow = loops->flow;
  LLVMBasicBlockRef first = flow->blocks[region->entries[0]].ref;
  if (region->entry_count == 1)
    return LLVMBuildBr(loops->builder, first);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(loops->builder);
  LLVMPositionBuilderBefore(loops->builder, LLVMGetFirstInstruction(loops->entry));
  LLVMValueRef way = LLVMBuildAlloca(loops->builder, loops->i32, "kdl.way");
  LLVMPositionBuilderAtEnd(loops->builder, loop->before);
  LLVMValueRef taken = LLVMBuildLoad2(loops->builder, loops->i32, way, "");
  LLVMPositionBuilderAtEnd(loops->builder, body);
  LLVMValueRef end = LLVMBuildSwitch(loops->builder, taken, first, region->entry_count - 1);
  loop->ways = ld_flow_take(flow->arena, region->entry_count, sizeof(LLVMBasicBlockRef));
  for (uint32_t i = 0; i < region->entry_count; ++i) {
    if (i)
      LLVMAddCase(end, word(loops, i), flow->blocks[region->entries[i]].ref);
    loop->ways[i] = add_block(loops, "kdl.way");
    LLVMPositionBuilderAtEnd(loops->builder, loop->ways[i]);
    LLVMBuildStore(loops->builder, word(loops, i), way);
    LLVMBuildBr(loops->builder, loop->before);
  }
  return end;
}

static void make_blocks(ld_loops *loops, uint32_t number) {
  const ld_flow *flow = loops->flow;
  ld_loop *loop = &loops->loops[number];
  size_t variables = flow->variable_count;
  LLVMValueRef *values = ld_flow_take(flow->arena, 4 * variables, sizeof *values);
  *loop = (ld_loop){.before = add_block(loops, "kdl.before"),
                    .latch = add_block(loops, "kdl.done"),
                    .after = add_block(loops, "kdl.after"),
                    .first = add_block(loops, "kdl.items"),
                    .start = values,
                    .now = values + variables,
                    .own = values + 2 * variables,
                    .remade = values + 3 * variables};
  LLVMPositionBuilderAtEnd(loops->builder, loop->first);
  loop->index = LLVMConstInt(loops->i64, 0, false);
  for (unsigned d = 3; d-- > 0;) {
    begin_turn(loops, loop, d);
    LLVMValueRef row =
        LLVMBuildNUWMul(loops->builder, loop->index, wide(loops, loops->extent[d]), "");
    loop->index = LLVMBuildNUWAdd(loops->builder, row, wide(loops, loop->thread[d]), "");
  }
  loop->body_end = enter(loops, loop, &flow->regions[number]);
  LLVMPositionBuilderAtEnd(loops->builder, loop->latch);
  for (unsigned d = 0; d < 3; ++d)
    end_turn(loops, loop, d);
  LLVMBuildBr(loops->builder, loop->after);
}

/* ------------------------------------------------------------------------------------------ */
/* Where regions lead                                                                           */

static LLVMBasicBlockRef way_into(const ld_loops *loops, LLVMBasicBlockRef block) {
  const ld_flow *flow = loops->flow;
  uint32_t b = 0;
  ld_map_get(&flow->block_numbers, block, &b);
  const ld_region *region = &flow->regions[flow->blocks[b].region];
  const ld_loop *loop = &loops->loops[flow->blocks[b].region];
  if (region->is_barrier)
    return block;
  uint32_t entry = 0;
  while (entry + 1 < region->entry_count && region->entries[entry] != b)
    ++entry;
  return loop->ways ? loop->ways[entry] : loop->before;
}

static void lead_on(const ld_loops *loops, LLVMValueRef branch) {
  for (unsigned i = 0; i < LLVMGetNumSuccessors(branch); ++i)
    LLVMSetSuccessor(branch, i, way_into(loops, LLVMGetSuccessor(branch, i)));
}

/* The group ends here, and the launch fails with the message; with a runtime that takes none, the
 * program ends. */
static void stop(ld_loops *loops, const char *message) {
  LLVMBasicBlockRef ask = add_block(loops, "kdl.ask"), tell = add_block(loops, "kdl.tell");
  LLVMBasicBlockRef end = add_block(loops, "kdl.stop");
  LLVMTypeRef pointer = LLVMPointerTypeInContext(loops->context, 0);
  LLVMTypeRef nothing = LLVMFunctionType(LLVMVoidTypeInContext(loops->context), NULL, 0, false);
  LLVMValueRef size = load_field(loops, loops->i32, offsetof(kdl_host_group, size), 4);
  LLVMBuildCondBr(
      loops->builder,
      LLVMBuildICmp(loops->builder, LLVMIntUGE, size, word(loops, sizeof(kdl_host_group)), ""), ask,
      end);
  LLVMPositionBuilderAtEnd(loops->builder, ask);
  LLVMValueRef at = load_field(loops, pointer, offsetof(kdl_host_group, error), 8);
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

/* The stack has room for the variables of so many work-items, where the launch says how many. What
 * the kernel says itself is checked by the compiler (-Wframe-larger-than). */
static void check_count(ld_loops *loops) {
  uint64_t each = ld_loops_bytes_per_item(loops);
  if (each == 0 || LLVMIsConstant(loops->count))
    return;
  LLVMValueRef most = LLVMConstInt(loops->i64, most_on_stack / each, false);
  LLVMValueRef fits = LLVMBuildICmp(loops->builder, LLVMIntULE, loops->count, most, "");
  LLVMBasicBlockRef on = add_block(loops, "kdl.memory"), large = add_block(loops, "kdl.large");
  LLVMBuildCondBr(loops->builder, fits, on, large);
  LLVMPositionBuilderAtEnd(loops->builder, large);
  stop(loops, kdl_arena_format(loops->flow->arena,
                               "kernel %s: found a group of more than %" PRIu64
                               " work-items, which keep %" PRIu64
                               " bytes each across barriers; expected at most as many",
                               loops->flow->kernel->name, most_on_stack / each, each));
  LLVMPositionBuilderAtEnd(loops->builder, on);
}

/* The barrier nearest to the branch, among those it decides about. */
static LLVMValueRef barrier_behind(const ld_flow *flow, const ld_block *block) {
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (block->decided[b] && flow->blocks[b].is_barrier)
      return LLVMGetFirstInstruction(flow->blocks[b].ref);
  }
  return NULL;
}

/* Collects what a work-item decides, and after the loop sees whether all decided the same. */
static LLVMValueRef agree(ld_loops *loops, ld_loop *loop, const ld_block *block,
                          const char *message) {
  LLVMValueRef decision = LLVMGetOperand(LLVMGetBasicBlockTerminator(block->ref), 0);
  LLVMTypeRef type = LLVMTypeOf(decision);
  LLVMPositionBuilderBefore(loops->builder, LLVMGetBasicBlockTerminator(loops->entry));
  LLVMValueRef all = LLVMBuildAlloca(loops->builder, type, "");
  LLVMValueRef some = LLVMBuildAlloca(loops->builder, type, "");
  LLVMPositionBuilderAtEnd(loops->builder, loop->before);
  LLVMBuildStore(loops->builder, LLVMConstAllOnes(type), all);
  LLVMBuildStore(loops->builder, LLVMConstNull(type), some);
  LLVMPositionBuilderBefore(loops->builder, LLVMGetBasicBlockTerminator(block->ref));
  LLVMBuildStore(
      loops->builder,
      LLVMBuildAnd(loops->builder, LLVMBuildLoad2(loops->builder, type, all, ""), decision, ""),
      all);
  LLVMBuildStore(
      loops->builder,
      LLVMBuildOr(loops->builder, LLVMBuildLoad2(loops->builder, type, some, ""), decision, ""),
      some);
  LLVMPositionBuilderAtEnd(loops->builder, loop->after);
  LLVMValueRef agreed = LLVMBuildLoad2(loops->builder, type, all, "");
  LLVMValueRef differ = LLVMBuildICmp(loops->builder, LLVMIntNE, agreed,
                                      LLVMBuildLoad2(loops->builder, type, some, ""), "");
  LLVMBasicBlockRef stopping = add_block(loops, "kdl.differ"), on = add_block(loops, "kdl.agree");
  LLVMBuildCondBr(loops->builder, differ, stopping, on);
  LLVMPositionBuilderAtEnd(loops->builder, stopping);
  stop(loops, message);
  LLVMPositionBuilderAtEnd(loops->builder, on);
  return agreed;
}

static const char *disagreement(const ld_flow *flow, const ld_block *block) {
  LLVMValueRef barrier = barrier_behind(flow, block);
  const char *branch = ld_flow_line(flow, LLVMGetBasicBlockTerminator(block->ref));
  return kdl_arena_format(
      flow->arena,
      "%s: kernel %s: work-items of a group differ in whether they come to the barrier "
      "(__gpu_sync_threads) at %s; expected all of them to",
      branch, flow->kernel->name, barrier ? ld_flow_line(flow, barrier) : branch);
}

/* The accesses of one region come before those of the next, which the marks on its loop say nothing
 * about: LLVM moves the mark of a loop that it unrolls to the branch of a loop around it, and would
 * take the turns of that one to be free of one another. Nothing is done here when it runs. */
static void keep_order(ld_loops *loops) {
  static const char clobbers[] = "~{memory}";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(loops->context), NULL, 0, false);
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, clobbers, sizeof clobbers - 1, true, false,
                                          LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(loops->builder, type, nothing, NULL, 0, "");
}

static void end_region(ld_loops *loops, uint32_t number) {
  const ld_flow *flow = loops->flow;
  const ld_region *region = &flow->regions[number];
  ld_loop *loop = &loops->loops[number];
  LLVMBasicBlockRef out = NULL;
  LLVMPositionBuilderAtEnd(loops->builder, loop->after);
  keep_order(loops);
  for (uint32_t k = 0; k < region->block_count; ++k) {
    const ld_block *block = &flow->blocks[region->blocks[k]];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ref);
    if (block->decides_barrier) {
      LLVMValueRef decision = LLVMGetOperand(end, 0);
      LLVMPositionBuilderAtEnd(loops->builder, loop->after);
      if (!block->decides_before)
        decision = agree(loops, loop, block, disagreement(flow, block));
      LLVMInstructionRemoveFromParent(end);
      LLVMInsertIntoBuilder(loops->builder, end);
      LLVMSetOperand(end, 0, decision);
      lead_on(loops, end);
    } else if (ld_flow_returns(block)) {
      LLVMInstructionRemoveFromParent(end);
      LLVMPositionBuilderAtEnd(loops->builder, loop->after);
      LLVMInsertIntoBuilder(loops->builder, end);
    } else {
      for (uint32_t i = 0; i < LLVMGetNumSuccessors(end); ++i) {
        LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
        uint32_t b = 0;
        ld_map_get(&flow->block_numbers, to, &b);
        if (flow->blocks[b].region == number)
          continue;
        out = to;
        LLVMSetSuccessor(end, i, loop->latch);
      }
      continue;
    }
    LLVMPositionBuilderAtEnd(loops->builder, block->ref);
    LLVMBuildBr(loops->builder, loop->latch);
  }
  if (out) {
    LLVMPositionBuilderAtEnd(loops->builder, loop->after);
    LLVMBuildBr(loops->builder, way_into(loops, out));
  }
  /* A region that nothing leaves: its work-items do not come back. */
  if (!LLVMGetBasicBlockTerminator(loop->after) && !out && region->last == LD_FLOW_END) {
    LLVMPositionBuilderAtEnd(loops->builder, loop->after);
    LLVMBuildUnreachable(loops->builder);
  }
  LLVMPositionBuilderAtEnd(loops->builder, loop->before);
  LLVMBuildBr(loops->builder, loop->first);
}

static void end_barrier(ld_loops *loops, const ld_region *region) {
  LLVMBasicBlockRef block = loops->flow->blocks[region->entries[0]].ref;
  lead_on(loops, LLVMGetBasicBlockTerminator(block));
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

/* LLVM's C interface makes no distinct nodes without operands. */
static LLVMValueRef make_access_group(LLVMContextRef context) {
  static const char words[] = "!kdl = !{!0}\n!0 = distinct !{}\n";
  LLVMModuleRef module = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(words, sizeof words - 1, "group");
  char *problem = NULL;
  LLVMValueRef node = NULL;
  if (!LLVMParseIRInContext2(context, buffer, &module, &problem)) {
    LLVMGetNamedMetadataOperands(module, "kdl", &node);
    LLVMDisposeModule(module);
  }
  LLVMDisposeMessage(problem);
  return node;
}

void ld_flow_write_loops(ld_flow *flow) {
  LLVMContextRef context = flow->context->llvm;
  ld_loops loops = {.flow = flow,
                    .context = context,
                    .builder = LLVMCreateBuilderInContext(context),
                    .layout = LLVMGetModuleDataLayout(flow->module),
                    .i8 = LLVMInt8TypeInContext(context),
                    .i32 = LLVMInt32TypeInContext(context),
                    .i64 = LLVMInt64TypeInContext(context),
                    .loops = ld_flow_take(flow->arena, flow->region_count, sizeof(ld_loop)),
                    .access_group = make_access_group(context)};
  begin(&loops);
  check_count(&loops);
  ld_loops_allocate(&loops);
  LLVMBasicBlockRef begun = LLVMGetInsertBlock(loops.builder);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (!flow->regions[r].is_barrier)
      make_blocks(&loops, r);
  }
  LLVMPositionBuilderAtEnd(loops.builder, begun);
  LLVMBuildBr(loops.builder, way_into(&loops, flow->blocks[0].ref));
  ld_loops_remake(&loops);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (!flow->regions[r].is_barrier)
      ld_loops_place(&loops, r);
  }
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (flow->regions[r].is_barrier)
      end_barrier(&loops, &flow->regions[r]);
    else
      end_region(&loops, r);
  }
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (flow->regions[r].is_barrier || !ld_loops_may_mark(&loops, r))
      continue;
    ld_loops_mark(&loops, r);
    for (unsigned d = 0; d < 3; ++d) {
      if (loops.loops[r].ends[d])
        mark_loop(&loops, loops.loops[r].ends[d]);
    }
  }
  LLVMDisposeBuilder(loops.builder);
}
