/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The function for a group. Each region becomes
 *
 *     before:   what is uniform over the work-items
 *     loop:     over z, y and x, with the region's blocks as its body
 *     after:    the branch to the next region, which all work-items take together
 */
#include "compiler/ir/groups/loops.h"

#include "compiler/ir/llvm_versions.h"
#include "support/base/error.h"
#include "tools/common/memory.h"

#include <kdl/host_abi.h>

#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { max_stack_bytes = 256 << 10 };

LLVMValueRef ir_loops_const_i32(const ir_loops *loops, uint64_t value) {
  return LLVMConstInt(loops->i32, value, false);
}

/* ------------------------------------------------------------------------------------------ */
/* The entry                                                                                    */

LLVMValueRef ir_loops_load_field(ir_loops *loops, LLVMTypeRef type, size_t offset, unsigned align) {
  LLVMValueRef index = LLVMConstInt(loops->i64, offset, false);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(loops->builder, loops->i8,
                                          LLVMGetParam(loops->flow->function, 0), &index, 1, "");
  LLVMValueRef value = LLVMBuildLoad2(loops->builder, type, at, "");
  LLVMSetAlignment(value, align);
  return value;
}

static void move_variables(ir_loops *loops) {
  LLVMBasicBlockRef old = loops->flow->blocks[0].ref;
  for (LLVMValueRef i = LLVMGetFirstInstruction(old), next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    if (!LLVMIsAAllocaInst(i))
      continue;
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(loops->builder, i);
  }
}

static void emit_entry(ir_loops *loops) {
  const ir_flow *flow = loops->flow;
  const uint32_t *block = flow->kernel->block;
  loops->entry = LLVMInsertBasicBlockInContext(loops->context, flow->blocks[0].ref, "kdl.begin");
  LLVMPositionBuilderAtEnd(loops->builder, loops->entry);
  move_variables(loops);
  for (unsigned d = 0; d < 3; ++d)
    loops->extent[d] =
        block[0] ? ir_loops_const_i32(loops, block[d])
                 : ir_loops_load_field(loops, loops->i32,
                                       offsetof(kdl_host_group, block) + 4 * (size_t)d, 4);
  loops->count = LLVMConstInt(loops->i64, 1, false);
  for (unsigned d = 0; d < 3; ++d)
    loops->count =
        LLVMBuildNUWMul(loops->builder, loops->count,
                        LLVMBuildZExt(loops->builder, loops->extent[d], loops->i64, ""), "");
}

/* ------------------------------------------------------------------------------------------ */
/* The blocks of a loop                                                                         */

LLVMBasicBlockRef ir_loops_add_block(const ir_loops *loops, const char *name) {
  return LLVMAppendBasicBlockInContext(loops->context, loops->flow->function, name);
}

static LLVMValueRef metadata_string(const ir_loops *loops, const char *words) {
  return LLVMMetadataAsValue(loops->context,
                             LLVMMDStringInContext2(loops->context, words, strlen(words)));
}

static LLVMMetadataRef metadata_node(const ir_loops *loops, LLVMMetadataRef *items, size_t count) {
  return LLVMMDNodeInContext2(loops->context, items, count);
}

/* Marks the accesses of the loop's body as free of order. The loop over a row, the innermost one,
 * must stay for the vectoriser: LLVM would otherwise unroll a short one, and vectorise the
 * enclosing loop, whose work-items are a row apart. */
static void mark_loop(const ir_loops *loops, LLVMValueRef branch, bool is_row) {
  LLVMMetadataRef parallel[] = {
      LLVMValueAsMetadata(metadata_string(loops, "llvm.loop.parallel_accesses")),
      LLVMValueAsMetadata(loops->access_group)};
  LLVMMetadataRef as_it_is =
      LLVMValueAsMetadata(metadata_string(loops, "llvm.loop.unroll.disable"));
  LLVMMetadataRef self = LLVMTemporaryMDNode(loops->context, NULL, 0);
  LLVMMetadataRef items[] = {self, metadata_node(loops, parallel, 2),
                             metadata_node(loops, &as_it_is, 1)};
  LLVMMetadataRef whole = metadata_node(loops, items, is_row ? 3 : 2);
  LLVMMetadataReplaceAllUsesWith(self, whole);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(loops->context, "llvm.loop", 9),
                  LLVMMetadataAsValue(loops->context, whole));
}

/* A dimension of one work-item needs no loop; and a loop that folds away would leave its mark on
 * the branch of the enclosing loop, whose iterations are not independent. */
static bool is_single(LLVMValueRef extent) {
  return LLVMIsAConstantInt(extent) && LLVMConstIntGetZExtValue(extent) == 1;
}

/* Begins the loop over one dimension at the builder. */
static void begin_loop(ir_loops *loops, ir_loop *loop, unsigned d) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(loops->builder);
  LLVMValueRef none = ir_loops_const_i32(loops, 0);
  loop->thread[d] = none;
  if (is_single(loops->extent[d]))
    return;
  loop->headers[d] = ir_loops_add_block(loops, "kdl.item");
  LLVMBuildBr(loops->builder, loop->headers[d]);
  LLVMPositionBuilderAtEnd(loops->builder, loop->headers[d]);
  loop->thread[d] = LLVMBuildPhi(loops->builder, loops->i32, "");
  LLVMAddIncoming(loop->thread[d], &none, &before, 1);
}

static void end_loop(ir_loops *loops, ir_loop *loop, unsigned d) {
  if (is_single(loops->extent[d]))
    return;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(loops->builder);
  LLVMBasicBlockRef after = ir_loops_add_block(loops, "kdl.row");
  LLVMValueRef next =
      LLVMBuildNUWAdd(loops->builder, loop->thread[d], ir_loops_const_i32(loops, 1), "");
  LLVMAddIncoming(loop->thread[d], &next, &here, 1);
  LLVMValueRef more = LLVMBuildICmp(loops->builder, LLVMIntULT, next, loops->extent[d], "");
  loop->latch_branches[d] = LLVMBuildCondBr(loops->builder, more, loop->headers[d], after);
  LLVMPositionBuilderAtEnd(loops->builder, after);
}

static LLVMValueRef extend_to_i64(ir_loops *loops, LLVMValueRef value) {
  return LLVMBuildZExt(loops->builder, value, loops->i64, "");
}

/* The end of the body's first block: switches on the entry that the group takes, if there are
 * several. */
static LLVMValueRef emit_entry_switch(ir_loops *loops, ir_loop *loop, const ir_region *region) {
  const ir_flow *flow = loops->flow;
  LLVMBasicBlockRef first = flow->blocks[region->entries[0]].ref;
  if (region->entry_count == 1)
    return LLVMBuildBr(loops->builder, first);
  LLVMBasicBlockRef body = LLVMGetInsertBlock(loops->builder);
  LLVMPositionBuilderBefore(loops->builder, LLVMGetFirstInstruction(loops->entry));
  LLVMValueRef way = LLVMBuildAlloca(loops->builder, loops->i32, "kdl.way");
  LLVMPositionBuilderAtEnd(loops->builder, loop->preheader);
  LLVMValueRef taken = LLVMBuildLoad2(loops->builder, loops->i32, way, "");
  LLVMPositionBuilderAtEnd(loops->builder, body);
  LLVMValueRef end = LLVMBuildSwitch(loops->builder, taken, first, region->entry_count - 1);
  loop->entry_blocks = ir_zeroed_alloc(flow->arena, region->entry_count, sizeof(LLVMBasicBlockRef));
  for (uint32_t i = 0; i < region->entry_count; ++i) {
    if (i)
      LLVMAddCase(end, ir_loops_const_i32(loops, i), flow->blocks[region->entries[i]].ref);
    loop->entry_blocks[i] = ir_loops_add_block(loops, "kdl.way");
    LLVMPositionBuilderAtEnd(loops->builder, loop->entry_blocks[i]);
    LLVMBuildStore(loops->builder, ir_loops_const_i32(loops, i), way);
    LLVMBuildBr(loops->builder, loop->preheader);
  }
  return end;
}

static void make_blocks(ir_loops *loops, uint32_t number) {
  const ir_flow *flow = loops->flow;
  ir_loop *loop = &loops->loops[number];
  size_t variables = flow->variable_count;
  LLVMValueRef *values = ir_zeroed_alloc(flow->arena, 4 * variables, sizeof *values);
  *loop = (ir_loop){.preheader = ir_loops_add_block(loops, "kdl.before"),
                    .latch = ir_loops_add_block(loops, "kdl.done"),
                    .after = ir_loops_add_block(loops, "kdl.after"),
                    .first = ir_loops_add_block(loops, "kdl.items"),
                    .entry_values = values,
                    .current_values = values + variables,
                    .item_addresses = values + 2 * variables,
                    .rematerialized = values + 3 * variables};
  LLVMPositionBuilderAtEnd(loops->builder, loop->first);
  loop->index = LLVMConstInt(loops->i64, 0, false);
  for (unsigned d = 3; d-- > 0;) {
    begin_loop(loops, loop, d);
    LLVMValueRef row =
        LLVMBuildNUWMul(loops->builder, loop->index, extend_to_i64(loops, loops->extent[d]), "");
    loop->index = LLVMBuildNUWAdd(loops->builder, row, extend_to_i64(loops, loop->thread[d]), "");
  }
  loop->body_end = emit_entry_switch(loops, loop, &flow->regions[number]);
  LLVMPositionBuilderAtEnd(loops->builder, loop->latch);
  for (unsigned d = 0; d < 3; ++d)
    end_loop(loops, loop, d);
  LLVMBuildBr(loops->builder, loop->after);
}

/* The same check for a kernel that declares its block size. */
static kdl_status check_block_size(const ir_loops *loops) {
  const ir_flow *flow = loops->flow;
  const uint32_t *block = flow->kernel->block;
  uint64_t each = ir_loops_bytes_per_item(loops), count = (uint64_t)block[0] * block[1] * block[2];
  if (!each || count <= max_stack_bytes / each)
    return KDL_OK;
  return kdl_fail(KDL_BAD_FILE,
                  "%s: its %" PRIu64 " work-items keep %" PRIu64
                  " bytes each across barriers; expected at most %d bytes for a group",
                  ir_flow_kernel_at(flow, LLVMGetBasicBlockTerminator(flow->blocks[0].ref)), count,
                  each, (int)max_stack_bytes);
}

/* If the launch sets the block size: checks that the work-items' variables fit on the stack. */
static void emit_stack_check(ir_loops *loops) {
  uint64_t each = ir_loops_bytes_per_item(loops);
  if (each == 0 || LLVMIsConstant(loops->count))
    return;
  LLVMValueRef most = LLVMConstInt(loops->i64, max_stack_bytes / each, false);
  LLVMValueRef fits = LLVMBuildICmp(loops->builder, LLVMIntULE, loops->count, most, "");
  LLVMBasicBlockRef on = ir_loops_add_block(loops, "kdl.memory"),
                    large = ir_loops_add_block(loops, "kdl.large");
  LLVMBuildCondBr(loops->builder, fits, on, large);
  LLVMPositionBuilderAtEnd(loops->builder, large);
  ir_loops_emit_abort(loops,
                      xarena_format(loops->flow->arena,
                                    "kernel %s: found a group of more than %" PRIu64
                                    " work-items, which keep %" PRIu64
                                    " bytes each across barriers; expected at most as many",
                                    loops->flow->kernel->name, max_stack_bytes / each, each));
  LLVMPositionBuilderAtEnd(loops->builder, on);
}

/* ------------------------------------------------------------------------------------------ */
/* The function                                                                                 */

/* LLVM's C API cannot create distinct nodes without operands. */
static LLVMValueRef make_access_group(LLVMContextRef context) {
  static const char words[] = "!kdl = !{!0}\n!0 = distinct !{}\n";
  LLVMModuleRef module = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(words, sizeof words - 1, "group");
  char *problem = NULL;
  LLVMValueRef metadata_node = NULL;
  if (!LLVMParseIRInContext2(context, buffer, &module, &problem)) {
    LLVMGetNamedMetadataOperands(module, "kdl", &metadata_node);
    LLVMDisposeModule(module);
  }
  LLVMDisposeMemoryBuffer(buffer); /* parsing does not take ownership */
  LLVMDisposeMessage(problem);
  return metadata_node;
}

kdl_status ir_flow_write_loops(ir_flow *flow) {
  LLVMContextRef context = flow->context;
  ir_loops loops = {.flow = flow,
                    .context = context,
                    .builder = ir_create_builder(flow->module),
                    .layout = LLVMGetModuleDataLayout(flow->module),
                    .i8 = LLVMInt8TypeInContext(context),
                    .i32 = LLVMInt32TypeInContext(context),
                    .i64 = LLVMInt64TypeInContext(context),
                    .loops = ir_zeroed_alloc(flow->arena, flow->region_count, sizeof(ir_loop)),
                    .access_group = make_access_group(context)};
  kdl_status status = check_block_size(&loops);
  if (status != KDL_OK) {
    LLVMDisposeBuilder(loops.builder);
    return status;
  }
  emit_entry(&loops);
  emit_stack_check(&loops);
  ir_loops_allocate(&loops);
  LLVMBasicBlockRef begun = LLVMGetInsertBlock(loops.builder);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (!flow->regions[r].is_barrier)
      make_blocks(&loops, r);
  }
  LLVMPositionBuilderAtEnd(loops.builder, begun);
  LLVMBuildBr(loops.builder, ir_loops_entry_of(&loops, flow->blocks[0].ref));
  ir_loops_rematerialize(&loops);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (!flow->regions[r].is_barrier)
      ir_loops_rewrite_values(&loops, r);
  }
  for (uint32_t r = 0; r < flow->region_count; ++r)
    ir_loops_emit_exits(&loops, r);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    if (flow->regions[r].is_barrier || !ir_loops_is_parallel(&loops, r))
      continue;
    ir_loops_mark_accesses(&loops, r);
    for (unsigned d = 0; d < 3; ++d) {
      if (loops.loops[r].latch_branches[d])
        mark_loop(&loops, loops.loops[r].latch_branches[d],
                  d == 0 && loops.loops[r].latch_branches[1]);
    }
  }
  LLVMDisposeBuilder(loops.builder);
  return KDL_OK;
}
