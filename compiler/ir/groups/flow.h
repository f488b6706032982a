/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The control flow of one function: its blocks, their properties, and its variables. */
#ifndef KDL_COMPILER_IR_GROUPS_FLOW_H
#define KDL_COMPILER_IR_GROUPS_FLOW_H

#include "compiler/ir/groups/groups.h"
#include "compiler/ir/linker/module.h"
#include "support/base/arena.h"

/* A map from addresses to numbers (pointer_map.c), in an arena. */
typedef struct ir_map {
  kdl_arena *arena;
  struct ir_map_slot *slots;
  size_t capacity, count;
} ir_map;

void ir_map_set(ir_map *map, const void *key, uint32_t number);
bool ir_map_get(const ir_map *map, const void *key, uint32_t *out_number);

/* The virtual successor of every block that ends the function. */
#define IR_FLOW_END UINT32_MAX

typedef struct ir_block {
  LLVMBasicBlockRef ref;
  uint32_t *successors, successor_count;     /* successors, each once */
  uint32_t *predecessors, predecessor_count; /* predecessors, each once */
  uint32_t post_dominator;                   /* the immediate post-dominator, or IR_FLOW_END */
  LLVMValueRef condition;                    /* of its branch; NULL if it has one successor */
  bool *control_dependents;   /* by block: reachable from here, before the join; NULL as above */
  bool is_barrier;            /* holds a barrier and nothing else */
  bool controls_barrier;      /* a barrier is among its control dependents */
  bool is_uniform_exit;       /* controls_barrier, and all work-items take the same branch */
  bool has_hoisted_condition; /* its condition is known before the loop over work-items */
  bool is_divergent;          /* not all work-items may reach it at the same time */
  bool is_unwritten;          /* no memory was written between the last barrier and here */
  uint32_t region;
} ir_block;

/* Where a variable of the function is stored. */
typedef enum ir_storage {
  IR_STORAGE_LOOP,  /* in one iteration of a loop: not needed outside */
  IR_STORAGE_GROUP, /* once for the group; only code between the loops stores to it */
  IR_STORAGE_ITEM,  /* one for each work-item */
} ir_storage;

typedef struct ir_variable {
  LLVMValueRef alloca;
  LLVMTypeRef type;
  bool is_simple;          /* every access loads or stores all of it */
  bool is_varying;         /* not the same for all work-items */
  LLVMValueRef only_store; /* if there is exactly one */
  uint32_t store_count;
  int rematerialization_cost; /* in instructions; -1: not possible, 0: not known yet */
  ir_storage storage;
  LLVMValueRef memory; /* IR_STORAGE_ITEM: an array over the work-items */
} ir_variable;

typedef struct ir_region {
  uint32_t *entries, entry_count; /* blocks that other regions branch to */
  uint32_t *blocks, block_count;
  uint32_t *unconditional_blocks,
      unconditional_count; /* blocks that every work-item runs once, in order */
  uint32_t last;           /* the block whose branch leaves the region */
  bool is_barrier;
} ir_region;

typedef struct ir_flow {
  kdl_arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMValueRef function;
  LLVMValueRef thread, barrier; /* the functions */
  const ir_groups_kernel *kernel;
  ir_block *blocks;
  uint32_t block_count;
  ir_map block_numbers;
  ir_variable *variables;
  uint32_t variable_count;
  ir_map variable_numbers;
  ir_map varying; /* instructions whose values differ between work-items */
  ir_map hoisted; /* instructions that run once for the group, before a loop */
  ir_region *regions;
  uint32_t region_count;
} ir_flow;

/* Zeroed memory with the lifetime of the arena. */
void *ir_zeroed_alloc(kdl_arena *arena, size_t count, size_t size);

/* Reads the blocks, their post-dominators and the variables. */
kdl_status ir_flow_read(ir_flow *flow);

uint32_t ir_flow_block_of(const ir_flow *flow, LLVMValueRef instruction);

/* The variable whose address the value is; NULL for other values. */
ir_variable *ir_flow_variable(const ir_flow *flow, LLVMValueRef value);

/* The variable that the instruction loads or stores in full; NULL otherwise. */
ir_variable *ir_flow_loaded(const ir_flow *flow, LLVMValueRef instruction);
ir_variable *ir_flow_stored(const ir_flow *flow, LLVMValueRef instruction);

/* The name of a function or variable. Never NULL. */
kdl_string ir_flow_value_name(LLVMValueRef value);

/* Whether the block ends the function. */
bool ir_flow_returns(const ir_block *block);

/* The value that a load returns if its variable is stored once; else NULL. */
LLVMValueRef ir_flow_single_stored_value(LLVMValueRef load);

/* The object that an address points into. */
LLVMValueRef ir_flow_underlying_object(LLVMValueRef pointer);

/* Whether the instruction calls the function. */
bool ir_flow_calls(LLVMValueRef instruction, LLVMValueRef function);

/* Whether it computes from its operands alone, so that it can be moved or repeated. */
bool ir_flow_is_pure(LLVMValueRef instruction);

/* Whether it is the address of group memory (prepare.c). */
bool ir_flow_is_group_address(LLVMValueRef instruction);

/* "FILE:LINE:COLUMN" of the instruction, or of the nearest one in its block that has a location;
 * NULL where none has. */
const char *ir_flow_location(const ir_flow *flow, LLVMValueRef instruction);

/* "FILE:LINE:COLUMN: kernel NAME", or "kernel NAME"; accepts NULL. */
const char *ir_flow_kernel_at(const ir_flow *flow, LLVMValueRef instruction);

/* Sets `mark` for the blocks without one that one work-item can reach from `block` in its
 * region. */
void ir_flow_mark_reachable(const ir_flow *flow, uint32_t block, uint32_t mark, uint32_t *marks);

/* Marks the blocks that a branch leads to before a barrier, or before its post-dominator. */
void ir_flow_find_reachable_before_barrier(const ir_flow *flow, uint32_t block, bool *out_set);

/* uniformity.c */
void ir_flow_find_varying(ir_flow *flow);
bool ir_flow_is_varying(const ir_flow *flow, LLVMValueRef value);

/* regions.c */
void ir_flow_find_regions(ir_flow *flow);

/* variable_storage.c */
void ir_flow_assign_storage(ir_flow *flow);
bool ir_flow_can_hoist(const ir_flow *flow, LLVMValueRef value);

/* loops.c */
kdl_status ir_flow_write_loops(ir_flow *flow);

/* prepare.c */
typedef struct ir_group_memory {
  LLVMValueRef function; /* its call is a placeholder for the address */
  LLVMTypeRef type;
  unsigned align;
} ir_group_memory;

/* Inlines the functions that reach a barrier into the kernels. */
kdl_status ir_groups_inline(kdl_arena *arena, LLVMModuleRef module, const ir_groups_kernel *kernels,
                            size_t count);

/* Replaces the addresses of group memory by calls of placeholder functions, and promotes variables
 * to values. *out_memory is an array of `*out_count`. */
kdl_status ir_groups_hide_memory(ir_flow *flow, ir_group_memory **out_memory, size_t *out_count);

/* Does the same, and brings the function of a kernel into the form that the other files expect:
 * each barrier is alone in its block, and no block uses a value of another. */
kdl_status ir_groups_simplify(ir_flow *flow, ir_group_memory **out_memory, size_t *out_count);

/* atomics.c: makes atomic operations on group memory plain ones. */
void ir_groups_relax_atomics(ir_flow *flow);

/* Turns the placeholders back into group memory, and removes the barriers. */
void ir_groups_restore_memory(ir_flow *flow, const ir_group_memory *memory, size_t count);

#endif
