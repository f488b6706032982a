/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state while loops over work-items are written: loops.c writes their blocks, loop_values.c
 * their values, loop_exits.c their exits. */
#ifndef KDL_COMPILER_IR_GROUPS_LOOPS_H
#define KDL_COMPILER_IR_GROUPS_LOOPS_H

#include "compiler/ir/groups/flow.h"

#include <llvm-c/Target.h>

/* The loop of one region. Arrays are indexed by variable. */
typedef struct ir_loop {
  LLVMBasicBlockRef preheader; /* has no terminator until the end */
  LLVMBasicBlockRef first;     /* its successor, which leads to the first iteration */
  LLVMBasicBlockRef
      *entry_blocks;       /* by entry: what leads to `preheader`; NULL if there is one entry */
  LLVMBasicBlockRef latch; /* ends the region for one work-item */
  LLVMBasicBlockRef after; /* follows the last work-item */
  LLVMValueRef body_end;   /* the terminator of the body's first block */
  LLVMBasicBlockRef headers[3];   /* by dimension; NULL: no loop */
  LLVMValueRef latch_branches[3]; /* by dimension: the branch at the latch */
  LLVMValueRef thread[3];
  LLVMValueRef index;           /* of the work-item in its group, 64 bits */
  LLVMValueRef *entry_values;   /* values of group variables at the region's entry */
  LLVMValueRef *current_values; /* their values at the hoisting position; NULL: the same */
  LLVMValueRef *item_addresses; /* addresses of this work-item's elements */
  LLVMValueRef *rematerialized; /* values computed again */
} ir_loop;

/* A value that is computed before the loop of one region, and used by others. */
typedef struct ir_saved_value {
  LLVMValueRef value;
  LLVMValueRef storage; /* a variable per group */
  LLVMValueRef *at;     /* by region: the load at its entry */
  struct ir_saved_value *next;
} ir_saved_value;

typedef struct ir_loops {
  ir_flow *flow;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTargetDataRef layout;
  LLVMTypeRef i8, i32, i64;
  LLVMBasicBlockRef entry;
  LLVMValueRef extent[3]; /* of the block, i32 */
  LLVMValueRef count;     /* of work-items, i64 */
  ir_loop *loops;         /* by region */
  ir_saved_value *saved_values;
  LLVMValueRef access_group;
} ir_loops;

LLVMValueRef ir_loops_const_i32(const ir_loops *loops, uint64_t value);
LLVMBasicBlockRef ir_loops_add_block(const ir_loops *loops, const char *name);

/* Loads a field of kdl_host_group at the builder. */
LLVMValueRef ir_loops_load_field(ir_loops *loops, LLVMTypeRef type, size_t offset, unsigned align);

/* The block through which the group enters a block: the start of its region's loop. */
LLVMBasicBlockRef ir_loops_entry_of(const ir_loops *loops, LLVMBasicBlockRef block);

/* Ends the group with a message, at the builder. */
void ir_loops_emit_abort(ir_loops *loops, const char *message);

/* Writes the code after a region, and the branches to it. */
void ir_loops_emit_exits(ir_loops *loops, uint32_t number);

/* Allocates the variables of work-items at the builder; and how many bytes each work-item needs. */
void ir_loops_allocate(ir_loops *loops);
uint64_t ir_loops_bytes_per_item(const ir_loops *loops);

/* Replaces loads of values that can be computed again by that computation: for all regions, before
 * any other change. */
void ir_loops_rematerialize(ir_loops *loops);

/* Moves what the region computes once for the group before its loop, and redirects accesses of
 * per-item variables to their memory. */
void ir_loops_rewrite_values(ir_loops *loops, uint32_t number);

/* Marks the accesses of a region as parallel. */
void ir_loops_mark_accesses(ir_loops *loops, uint32_t number);

/* loop_dependences.c: whether these and the loop may be marked, once all loops are written. */
bool ir_loops_is_parallel(const ir_loops *loops, uint32_t number);

#endif
