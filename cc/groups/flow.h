/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The blocks of one function, what is known of them and of its variables. */
#ifndef KDL_LD_GROUPS_FLOW_H
#define KDL_LD_GROUPS_FLOW_H

#include "cc/groups/groups.h"
#include "support/base/arena.h"

/* Where a function's own attributes are, among those of its parameters; LLVM's name for it is an
 * int and the index is not. */
#define LD_FUNCTION_ATTRIBUTES ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

/* Numbers by address (map.c), in an arena. */
typedef struct ld_map {
  kdl_arena *arena;
  struct ld_map_slot *slots;
  size_t capacity, count;
} ld_map;

void ld_map_set(ld_map *map, const void *key, uint32_t number);
bool ld_map_get(const ld_map *map, const void *key, uint32_t *out_number);

/* Behind every block that ends the function. */
#define LD_FLOW_END UINT32_MAX

typedef struct ld_block {
  LLVMBasicBlockRef ref;
  uint32_t *successors, successor_count;     /* successors, each once */
  uint32_t *predecessors, predecessor_count; /* predecessors, each once */
  uint32_t post_dominator;                   /* the immediate post-dominator, or LD_FLOW_END */
  LLVMValueRef condition;     /* what its branch depends on; NULL where it has one successor */
  bool *control_dependents;   /* by block: reached from here, before the join; NULL likewise */
  bool is_barrier;            /* holds a barrier and nothing else */
  bool controls_barrier;      /* some barrier is among what it decides about */
  bool is_uniform_exit;       /* so it does, and all work-items decide alike */
  bool has_hoisted_condition; /* what it decides is known before the loop over work-items */
  bool is_divergent;          /* not all work-items may come here at the same time */
  bool is_unwritten;          /* nothing was written between the last barrier and here */
  uint32_t region;
} ld_block;

/* Where a variable of the function lives. */
typedef enum ld_storage {
  LD_STORAGE_LOOP,  /* in one run through a loop's body: not needed outside */
  LD_STORAGE_GROUP, /* once for the group; only code between the loops stores to it */
  LD_STORAGE_ITEM,  /* one for each work-item */
} ld_storage;

typedef struct ld_variable {
  LLVMValueRef alloca;
  LLVMTypeRef type;
  bool is_simple;          /* only ever loaded and stored whole */
  bool is_varying;         /* not the same for all work-items */
  LLVMValueRef only_store; /* where there is one */
  uint32_t store_count;
  int rematerialization_cost; /* instructions to compute it anew; -1: cannot be, 0: not known yet */
  ld_storage storage;
  LLVMValueRef memory; /* LD_STORAGE_ITEM: an array over the work-items */
} ld_variable;

typedef struct ld_region {
  uint32_t *entries, entry_count; /* blocks that other regions lead to */
  uint32_t *blocks, block_count;
  uint32_t *unconditional_blocks,
      unconditional_count; /* blocks that every work-item runs once, in order */
  uint32_t last;           /* the block whose branch leaves the region */
  bool is_barrier;
} ld_region;

typedef struct ld_flow {
  kdl_arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMValueRef function;
  LLVMValueRef thread, barrier; /* the functions */
  const ld_groups_kernel *kernel;
  ld_block *blocks;
  uint32_t block_count;
  ld_map block_numbers;
  ld_variable *variables;
  uint32_t variable_count;
  ld_map variable_numbers;
  ld_map varying; /* instructions whose values differ between work-items */
  ld_map hoisted; /* instructions that are done once for the group, before a loop */
  ld_region *regions;
  uint32_t region_count;
} ld_flow;

/* Zeroed memory that lasts as long as the arena. */
void *ld_zeroed_alloc(kdl_arena *arena, size_t count, size_t size);

/* Reads the blocks, their joins and variables. */
kdl_status ld_flow_read(ld_flow *flow);

uint32_t ld_flow_block_of(const ld_flow *flow, LLVMValueRef instruction);

/* The variable whose address a value is; NULL for others. */
ld_variable *ld_flow_variable(const ld_flow *flow, LLVMValueRef value);

/* The variable that a load or store uses whole; NULL otherwise. */
ld_variable *ld_flow_loaded(const ld_flow *flow, LLVMValueRef instruction);
ld_variable *ld_flow_stored(const ld_flow *flow, LLVMValueRef instruction);

/* The name of a function or variable. Never NULL. */
kdl_string ld_flow_value_name(LLVMValueRef value);

/* Whether the function ends with the block. */
bool ld_flow_returns(const ld_block *block);

/* The value that a load gives from a variable that is stored once; else NULL. */
LLVMValueRef ld_flow_single_stored_value(LLVMValueRef load);

/* What an address is counted from. */
LLVMValueRef ld_flow_underlying_object(LLVMValueRef pointer);

/* Whether it calls that function. */
bool ld_flow_calls(LLVMValueRef instruction, LLVMValueRef function);

/* Whether it computes from its operands alone, and so can be done elsewhere or again. */
bool ld_flow_is_pure(LLVMValueRef instruction);

/* Whether it is the address of group memory (prepare.c). */
bool ld_flow_is_group_address(LLVMValueRef instruction);

/* "FILE:LINE:COLUMN" of the instruction, or of the nearest one in its block that has a line. */
const char *ld_flow_location(const ld_flow *flow, LLVMValueRef instruction);

/* Gives the mark to the blocks without one that a turn may come to from a block, in its region. */
void ld_flow_mark_reachable(const ld_flow *flow, uint32_t block, uint32_t mark, uint32_t *marks);

/* Marks what a branch leads to before it comes to a barrier, or to where its ways join. */
void ld_flow_find_reachable_before_barrier(const ld_flow *flow, uint32_t block, bool *out_set);

/* uniform.c */
void ld_flow_find_varying(ld_flow *flow);
bool ld_flow_is_varying(const ld_flow *flow, LLVMValueRef value);

/* regions.c */
void ld_flow_find_regions(ld_flow *flow);

/* places.c */
void ld_flow_assign_storage(ld_flow *flow);
bool ld_flow_can_hoist(const ld_flow *flow, LLVMValueRef value);

/* loops.c */
kdl_status ld_flow_write_loops(ld_flow *flow);

/* prepare.c */
typedef struct ld_group_memory {
  LLVMValueRef function; /* whose call stands for the address */
  LLVMTypeRef type;
  unsigned align;
} ld_group_memory;

/* Inlines what waits into the kernels. */
kdl_status ld_groups_inline(kdl_arena *arena, LLVMModuleRef module, const ld_groups_kernel *kernels,
                            size_t count);

/* Group memory becomes calls of functions that stand for its addresses, and variables become
 * values. *out_memory is an array of `*out_count`. */
kdl_status ld_groups_hide_memory(ld_flow *flow, ld_group_memory **out_memory, size_t *out_count);

/* Does that, and brings the function of a kernel into the form that the rest reads: a barrier has a
 * block of its own, and no block uses a value of another. */
kdl_status ld_groups_simplify(ld_flow *flow, ld_group_memory **out_memory, size_t *out_count);

/* atomics.c: what is atomic in group memory need not be. */
void ld_groups_relax_atomics(ld_flow *flow);

/* Group memory is memory again, and barriers are gone. */
void ld_groups_restore_memory(ld_flow *flow, const ld_group_memory *memory, size_t count);

#endif
