/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops over work-items, while they are written: loops.c has their blocks, loop_values.c what they
 * compute, loop_ends.c where they lead. */
#ifndef KDL_LD_GROUPS_LOOPS_H
#define KDL_LD_GROUPS_LOOPS_H

#include "cc/groups/flow.h"

#include <llvm-c/Target.h>

/* The loop of one region. Arrays are by variable. */
typedef struct ld_loop {
  LLVMBasicBlockRef preheader; /* without a terminator until the end */
  LLVMBasicBlockRef first;     /* what it leads to, which leads to the first turn */
  LLVMBasicBlockRef
      *entry_blocks;       /* by entry: what leads to `before`; NULL where there is one entry */
  LLVMBasicBlockRef latch; /* where a work-item has done the region */
  LLVMBasicBlockRef after; /* where all have */
  LLVMValueRef body_end;   /* the terminator of the block that begins the loop's body */
  LLVMBasicBlockRef headers[3];   /* where each direction's turns begin; NULL: no loop */
  LLVMValueRef latch_branches[3]; /* and the branches that end them */
  LLVMValueRef thread[3];
  LLVMValueRef index;           /* of the work-item in its group, 64 bits */
  LLVMValueRef *entry_values;   /* the group's value when the region begins */
  LLVMValueRef *current_values; /* and where hoisting has come to; NULL: the same */
  LLVMValueRef *item_addresses; /* the address of the work-item's own */
  LLVMValueRef *rematerialized; /* the value computed again */
} ld_loop;

/* A value that is computed before one region's loop, and used by others. */
typedef struct ld_saved_value {
  LLVMValueRef value;
  LLVMValueRef storage; /* a variable of the group */
  LLVMValueRef *at;     /* by region: loaded when it begins */
  struct ld_saved_value *next;
} ld_saved_value;

typedef struct ld_loops {
  ld_flow *flow;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTargetDataRef layout;
  LLVMTypeRef i8, i32, i64;
  LLVMBasicBlockRef entry;
  LLVMValueRef extent[3]; /* of the block, 32 bits each */
  LLVMValueRef count;     /* of work-items, 64 bits */
  ld_loop *loops;         /* by region */
  ld_saved_value *saved_values;
  LLVMValueRef access_group;
} ld_loops;

LLVMValueRef ld_loops_const_i32(const ld_loops *loops, uint64_t value);
LLVMBasicBlockRef ld_loops_add_block(const ld_loops *loops, const char *name);

/* A field of kdl_host_group, where the builder is. */
LLVMValueRef ld_loops_load_field(ld_loops *loops, LLVMTypeRef type, size_t offset, unsigned align);

/* What the group does to go on with a block: the loop of its region. */
LLVMBasicBlockRef ld_loops_entry_of(const ld_loops *loops, LLVMBasicBlockRef block);

/* The group ends where the builder is, with a message. */
void ld_loops_emit_abort(ld_loops *loops, const char *message);

/* What comes behind a region, and how control gets there. */
void ld_loops_emit_exits(ld_loops *loops, uint32_t number);

/* Memory for the variables of work-items, where the builder is; and how much each needs. */
void ld_loops_allocate(ld_loops *loops);
uint64_t ld_loops_bytes_per_item(const ld_loops *loops);

/* Loads of what can be computed again are replaced by that: for all regions, before anything else
 * is changed. */
void ld_loops_rematerialize(ld_loops *loops);

/* What the region does once for the group goes before its loop, and what it does with variables of
 * work-items goes to their memory. */
void ld_loops_rewrite_values(ld_loops *loops, uint32_t number);

/* Marks the accesses of a region. */
void ld_loops_mark_accesses(ld_loops *loops, uint32_t number);

/* order.c: whether they and the region's loop may be marked, once all loops are written. */
bool ld_loops_is_parallel(const ld_loops *loops, uint32_t number);

#endif
