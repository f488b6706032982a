/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Regions. A branch is in one region with its control dependents, up to barriers. A branch that
 * controls a barrier, uniformly for all work-items, ends its region instead, and the group takes it
 * as one. Regions that follow one another without another way in or out are merged.
 *
 * Most regions have one entry. Some have more: a condition without a barrier may end after one with
 * a barrier: `if (a) { barrier } else if (b) return;`.
 */
#include "compiler/ir/groups/flow.h"

static uint32_t root_of(uint32_t *parents, uint32_t block) {
  while (parents[block] != block)
    block = parents[block] = parents[parents[block]];
  return block;
}

/* The only block that control leaves the region for; IR_FLOW_END if there are several. */
static uint32_t only_exit(const ir_flow *flow, uint32_t *parents, uint32_t region) {
  uint32_t only = IR_FLOW_END;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (root_of(parents, b) != region)
      continue;
    if (flow->blocks[b].is_uniform_exit)
      return IR_FLOW_END;
    for (uint32_t i = 0; i < flow->blocks[b].successor_count; ++i) {
      uint32_t to = flow->blocks[b].successors[i];
      if (root_of(parents, to) == region || to == only)
        continue;
      if (only != IR_FLOW_END)
        return IR_FLOW_END;
      only = to;
    }
  }
  return only;
}

static bool has_other_predecessor(const ir_flow *flow, uint32_t *parents, uint32_t into,
                                  uint32_t from) {
  uint32_t region = root_of(parents, into);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (root_of(parents, b) != region)
      continue;
    for (uint32_t i = 0; i < flow->blocks[b].predecessor_count; ++i) {
      const uint32_t *before = flow->blocks[b].predecessors;
      uint32_t source = root_of(parents, before[i]);
      if ((source != region && source != from) || flow->blocks[before[i]].is_uniform_exit)
        return true;
    }
  }
  return false;
}

static void merge_regions(const ir_flow *flow, uint32_t *parents) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < flow->block_count; ++b) {
      if (root_of(parents, b) != b || flow->blocks[b].is_barrier)
        continue;
      uint32_t next = only_exit(flow, parents, b);
      if (next == IR_FLOW_END || next == 0 || flow->blocks[next].is_barrier ||
          has_other_predecessor(flow, parents, next, b))
        continue;
      parents[root_of(parents, next)] = b;
      changed = true;
    }
  }
}

static bool is_entry(const ir_flow *flow, uint32_t number, uint32_t b) {
  const ir_block *block = &flow->blocks[b];
  for (uint32_t i = 0; i < block->predecessor_count; ++i) {
    const ir_block *before = &flow->blocks[block->predecessors[i]];
    if (before->region != number || before->is_uniform_exit)
      return true;
  }
  return b == 0;
}

static void find_entries(ir_flow *flow, uint32_t number) {
  ir_region *region = &flow->regions[number];
  region->entries = ir_zeroed_alloc(flow->arena, region->block_count, sizeof *region->entries);
  region->last = IR_FLOW_END;
  for (uint32_t k = 0; k < region->block_count; ++k) {
    const ir_block *block = &flow->blocks[region->blocks[k]];
    if (is_entry(flow, number, region->blocks[k]))
      region->entries[region->entry_count++] = region->blocks[k];
    if (block->is_uniform_exit || ir_flow_returns(block))
      region->last = region->blocks[k];
    region->is_barrier |= block->is_barrier;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks that every work-item runs once                                                        */

/* Finds what the blocks on the stack reach within the region, avoiding `without`. True if that
 * leaves the region. */
static bool reaches_exit(const ir_flow *flow, uint32_t number, uint32_t *stack, uint32_t depth,
                         uint32_t without, bool *seen) {
  bool leaves = false;
  while (depth) {
    const ir_block *block = &flow->blocks[stack[--depth]];
    leaves |= ir_flow_returns(block) || block->is_uniform_exit;
    for (uint32_t i = 0; i < block->successor_count && !block->is_uniform_exit; ++i) {
      uint32_t to = block->successors[i];
      bool is_same = flow->blocks[to].region == number;
      leaves |= !is_same;
      if (!is_same || to == without || seen[to])
        continue;
      seen[to] = true;
      stack[depth++] = to;
    }
  }
  return leaves;
}

/* Whether a work-item can leave the region without running the block. */
static bool is_avoidable(const ir_flow *flow, uint32_t number, uint32_t block, uint32_t *stack) {
  const ir_region *region = &flow->regions[number];
  bool *seen = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *seen);
  uint32_t depth = 0;
  for (uint32_t i = 0; i < region->entry_count; ++i) {
    if (region->entries[i] == block)
      continue;
    seen[region->entries[i]] = true;
    stack[depth++] = region->entries[i];
  }
  return reaches_exit(flow, number, stack, depth, block, seen);
}

static void find_unconditional_blocks(ir_flow *flow, uint32_t number, uint32_t *stack) {
  ir_region *region = &flow->regions[number];
  region->unconditional_blocks =
      ir_zeroed_alloc(flow->arena, region->block_count, sizeof *region->unconditional_blocks);
  uint32_t *reached = ir_zeroed_alloc(flow->arena, region->block_count, sizeof *reached);
  for (uint32_t k = 0; k < region->block_count; ++k) {
    uint32_t b = region->blocks[k];
    if (is_avoidable(flow, number, b, stack))
      continue;
    bool *after = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *after);
    stack[0] = b;
    reaches_exit(flow, number, stack, 1, IR_FLOW_END, after);
    if (after[b])
      continue; /* in a loop */
    uint32_t behind = 0;
    for (uint32_t i = 0; i < flow->block_count; ++i)
      behind += after[i];
    uint32_t at = region->unconditional_count++;
    for (; at > 0 && reached[at - 1] < behind; --at) {
      reached[at] = reached[at - 1];
      region->unconditional_blocks[at] = region->unconditional_blocks[at - 1];
    }
    reached[at] = behind;
    region->unconditional_blocks[at] = b;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Finding regions                                                                              */

static void number_regions(ir_flow *flow, uint32_t *parents) {
  uint32_t *numbers = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *numbers);
  uint32_t *sizes = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *sizes);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    uint32_t root = root_of(parents, b);
    if (sizes[root]++ == 0)
      numbers[root] = flow->region_count++;
    flow->blocks[b].region = numbers[root];
  }
  flow->regions = ir_zeroed_alloc(flow->arena, flow->region_count, sizeof *flow->regions);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ir_region *region = &flow->regions[flow->blocks[b].region];
    if (!region->blocks)
      region->blocks =
          ir_zeroed_alloc(flow->arena, sizes[root_of(parents, b)], sizeof *region->blocks);
    region->blocks[region->block_count++] = b;
  }
}

void ir_flow_find_regions(ir_flow *flow) {
  uint32_t *parents = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *parents);
  for (uint32_t b = 0; b < flow->block_count; ++b)
    parents[b] = b;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    const ir_block *block = &flow->blocks[b];
    if (!block->condition || block->is_uniform_exit)
      continue;
    bool *with = block->control_dependents;
    if (block->controls_barrier) {
      with = ir_zeroed_alloc(flow->arena, flow->block_count, sizeof *with);
      ir_flow_find_reachable_before_barrier(flow, b, with);
    }
    for (uint32_t to = 0; to < flow->block_count; ++to) {
      if (with[to])
        parents[root_of(parents, to)] = root_of(parents, b);
    }
  }
  merge_regions(flow, parents);
  number_regions(flow, parents);
  uint32_t *stack = ir_zeroed_alloc(flow->arena, flow->block_count + 1, sizeof *stack);
  for (uint32_t r = 0; r < flow->region_count; ++r) {
    find_entries(flow, r);
    find_unconditional_blocks(flow, r, stack);
  }
}
