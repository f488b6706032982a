/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Regions. A branch that decides about no barrier goes into one region with all that it decides
 * about. One that does decide about a barrier ends its region, and is taken by the group as a
 * whole. Regions that follow one another, and nothing else, are put together.
 */
#include "base/error.h"
#include "groups/flow.h"

static uint32_t root_of(uint32_t *parents, uint32_t block) {
  while (parents[block] != block)
    block = parents[block] = parents[parents[block]];
  return block;
}

/* Where control leaves the region for, if it is one place: else LD_FLOW_END. */
static uint32_t only_exit(const ld_flow *flow, uint32_t *parents, uint32_t region) {
  uint32_t only = LD_FLOW_END;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (root_of(parents, b) != region)
      continue;
    if (flow->blocks[b].decides_barrier)
      return LD_FLOW_END;
    for (uint32_t i = 0; i < flow->blocks[b].next_count; ++i) {
      uint32_t to = flow->blocks[b].next[i];
      if (root_of(parents, to) == region || to == only)
        continue;
      if (only != LD_FLOW_END)
        return LD_FLOW_END;
      only = to;
    }
  }
  return only;
}

static bool comes_from_elsewhere(const ld_flow *flow, uint32_t *parents, uint32_t into,
                                 uint32_t from) {
  uint32_t region = root_of(parents, into);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    if (root_of(parents, b) != region)
      continue;
    for (uint32_t i = 0; i < flow->blocks[b].before_count; ++i) {
      const uint32_t *before = flow->blocks[b].before;
      uint32_t source = root_of(parents, before[i]);
      if ((source != region && source != from) || flow->blocks[before[i]].decides_barrier)
        return true;
    }
  }
  return false;
}

static void join_followers(const ld_flow *flow, uint32_t *parents) {
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < flow->block_count; ++b) {
      if (root_of(parents, b) != b || flow->blocks[b].is_barrier)
        continue;
      uint32_t next = only_exit(flow, parents, b);
      if (next == LD_FLOW_END || next == 0 || flow->blocks[next].is_barrier ||
          comes_from_elsewhere(flow, parents, next, b))
        continue;
      parents[root_of(parents, next)] = b;
      changed = true;
    }
  }
}

static kdl_status enter(const ld_flow *flow, ld_region *region, uint32_t block) {
  if (region->entry == LD_FLOW_END || region->entry == block) {
    region->entry = block;
    return KDL_OK;
  }
  return kdl_fail(
      KDL_BAD_FILE,
      "%s: kernel %s waits for its group (__gpu_sync_threads), and comes here by a jump "
      "from across a barrier, which it cannot on the CPU: expected loops and "
      "conditions without goto around the barrier",
      ld_flow_line(flow, LLVMGetFirstInstruction(flow->blocks[block].ref)), flow->kernel->name);
}

static kdl_status find_entry(ld_flow *flow, ld_region *region) {
  uint32_t number = (uint32_t)(region - flow->regions);
  kdl_status status = KDL_OK;
  region->entry = LD_FLOW_END;
  region->last = LD_FLOW_END;
  for (uint32_t k = 0; k < region->block_count && status == KDL_OK; ++k) {
    uint32_t b = region->blocks[k];
    const ld_block *block = &flow->blocks[b];
    if (b == 0)
      status = enter(flow, region, b);
    for (uint32_t i = 0; i < block->before_count && status == KDL_OK; ++i) {
      if (flow->blocks[block->before[i]].region != number)
        status = enter(flow, region, b);
    }
    if (block->decides_barrier || ld_flow_returns(block))
      region->last = b;
    region->is_barrier |= block->is_barrier;
  }
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Blocks that every work-item runs once                                                        */

/* Goes on from a block inside the region, not through `without`, marking what it reaches. True
 * where it leaves the region. */
static bool reach(const ld_flow *flow, uint32_t number, uint32_t from, uint32_t without, bool *seen,
                  uint32_t *stack) {
  uint32_t depth = 0;
  bool leaves = false;
  stack[depth++] = from;
  while (depth) {
    const ld_block *block = &flow->blocks[stack[--depth]];
    leaves |= ld_flow_returns(block) || block->decides_barrier;
    for (uint32_t i = 0; i < block->next_count; ++i) {
      uint32_t to = block->next[i];
      /* The region again, by its entry, is another run through it. */
      if (flow->blocks[to].region != number || to == flow->regions[number].entry) {
        leaves |= flow->blocks[to].region != number;
        continue;
      }
      if (to == without || seen[to])
        continue;
      seen[to] = true;
      stack[depth++] = to;
    }
  }
  return leaves;
}

static bool is_in_loop_at_entry(const ld_flow *flow, uint32_t number) {
  const ld_region *region = &flow->regions[number];
  const ld_block *entry = &flow->blocks[region->entry];
  for (uint32_t i = 0; i < entry->before_count; ++i) {
    const ld_block *before = &flow->blocks[entry->before[i]];
    if (before->region == number && !before->decides_barrier)
      return true;
  }
  return false;
}

static void find_always(ld_flow *flow, uint32_t number, uint32_t *stack) {
  ld_region *region = &flow->regions[number];
  region->always = ld_flow_take(flow->arena, region->block_count, sizeof *region->always);
  uint32_t *reached = ld_flow_take(flow->arena, region->block_count, sizeof *reached);
  bool entry_loops = is_in_loop_at_entry(flow, number);
  for (uint32_t k = 0; k < region->block_count; ++k) {
    uint32_t b = region->blocks[k];
    bool *seen = ld_flow_take(flow->arena, flow->block_count, sizeof *seen);
    bool is_avoidable = b != region->entry && reach(flow, number, region->entry, b, seen, stack);
    if (is_avoidable || (b == region->entry && entry_loops))
      continue;
    bool *after = ld_flow_take(flow->arena, flow->block_count, sizeof *after);
    reach(flow, number, b, LD_FLOW_END, after, stack);
    if (after[b])
      continue; /* in a loop */
    /* In a loop that goes through the entry: the blocks after it lead there. */
    bool loops = false;
    for (uint32_t i = 0; entry_loops && i < flow->blocks[region->entry].before_count; ++i) {
      uint32_t before = flow->blocks[region->entry].before[i];
      loops |= flow->blocks[before].region == number && !flow->blocks[before].decides_barrier &&
               (before == b || after[before]);
    }
    if (loops)
      continue;
    uint32_t behind = 0;
    for (uint32_t i = 0; i < flow->block_count; ++i)
      behind += after[i];
    uint32_t at = region->always_count++;
    for (; at > 0 && reached[at - 1] < behind; --at) {
      reached[at] = reached[at - 1];
      region->always[at] = region->always[at - 1];
    }
    reached[at] = behind;
    region->always[at] = b;
  }
}

/* ------------------------------------------------------------------------------------------ */
/* All of it                                                                                    */

static void number_regions(ld_flow *flow, uint32_t *parents) {
  uint32_t *numbers = ld_flow_take(flow->arena, flow->block_count, sizeof *numbers);
  uint32_t *sizes = ld_flow_take(flow->arena, flow->block_count, sizeof *sizes);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    uint32_t root = root_of(parents, b);
    if (sizes[root]++ == 0)
      numbers[root] = flow->region_count++;
    flow->blocks[b].region = numbers[root];
  }
  flow->regions = ld_flow_take(flow->arena, flow->region_count, sizeof *flow->regions);
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    ld_region *region = &flow->regions[flow->blocks[b].region];
    if (!region->blocks)
      region->blocks =
          ld_flow_take(flow->arena, sizes[root_of(parents, b)], sizeof *region->blocks);
    region->blocks[region->block_count++] = b;
  }
}

kdl_status ld_flow_find_regions(ld_flow *flow) {
  uint32_t *parents = ld_flow_take(flow->arena, flow->block_count, sizeof *parents);
  for (uint32_t b = 0; b < flow->block_count; ++b)
    parents[b] = b;
  for (uint32_t b = 0; b < flow->block_count; ++b) {
    const ld_block *block = &flow->blocks[b];
    if (!block->decides || block->decides_barrier)
      continue;
    for (uint32_t to = 0; to < flow->block_count; ++to) {
      if (block->decided[to])
        parents[root_of(parents, to)] = root_of(parents, b);
    }
  }
  join_followers(flow, parents);
  number_regions(flow, parents);
  kdl_status status = KDL_OK;
  uint32_t *stack = ld_flow_take(flow->arena, flow->block_count + 1, sizeof *stack);
  for (uint32_t r = 0; r < flow->region_count && status == KDL_OK; ++r) {
    status = find_entry(flow, &flow->regions[r]);
    if (status == KDL_OK)
      find_always(flow, r, stack);
  }
  return status;
}
