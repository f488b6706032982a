/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/gpu_plan.h"

/* Of a multiprocessor, in cycles. 128 by 256 by 64 values of two bytes take 1024 cycles of its
 * tensor cores; what it reads from L2 was more than 48 bytes a cycle in those. */
enum { values_per_cycle = 32, bytes_per_cycle = 64, most_parts = 16 };

static uint64_t divide_up(uint64_t a, uint64_t b) {
  return (a + b - 1) / b;
}

/* Cycles of one step along K of one tile. */
static uint64_t step_cost(const gpu_tile *tile) {
  uint64_t multiply = (uint64_t)tile->rows * tile->columns / values_per_cycle;
  uint64_t copy = (uint64_t)(tile->rows + tile->columns) * 128 / bytes_per_cycle;
  return multiply > copy ? multiply : copy;
}

static uint64_t plan_cost(const gpu_machine *machine, const gpu_tile *tile,
                          const kdl_matmul_gpu_problem *problem, uint32_t parts, uint64_t tiles) {
  const uint64_t work = tiles * parts, values = (uint64_t)tile->rows * tile->columns;
  const uint64_t steps = divide_up(divide_up(problem->k, tile->depth), parts);
  uint64_t groups = machine->group_bytes / (tile->group_bytes + 1024);
  const uint64_t wanted = divide_up(work, machine->units);
  groups = groups < 1 ? 1 : groups;
  groups = groups < wanted ? groups : wanted;
  const uint64_t waves = divide_up(work, machine->units * groups);
  const uint64_t begin = 1000, store = values / 16;
  const uint64_t add = parts < 2       ? 0
                       : tile->is_bulk ? 1500 + values / 8
                                       : 4000 + parts * values / 10;
  return waves * groups * (steps * step_cost(tile) + store + add) + begin;
}

/* With bulk copies there are clusters, and parts are added up in group memory. */
static uint64_t workspace_of(const gpu_tile *tile, uint64_t tiles, uint32_t parts) {
  return parts < 2 || tile->is_bulk
             ? 0
             : GPU_COUNTER_BYTES + tiles * parts * tile->rows * tile->columns * 4;
}

/* A cluster has 8 groups at most, and each adds up the sums of as many subgroups. */
static int allows_parts(const gpu_tile *tile, uint64_t tiles, uint32_t parts) {
  return tile->is_bulk ? tile->subgroups % parts == 0 && parts <= 8
                       : tiles <= GPU_COUNTER_BYTES / 4;
}

static int fits(uint32_t wanted, uint32_t size) {
  return !wanted || wanted == size;
}

kdl_matmul_gpu_problem gpu_apply_choices(const kdl_matmul_gpu_problem *problem,
                                         const kdl_matmul_gpu_choice *table, size_t count) {
  kdl_matmul_gpu_problem chosen = *problem;
  for (size_t i = 0; i < count && !problem->tile; ++i) {
    const kdl_matmul_gpu_choice *row = &table[i];
    if (!fits(row->m, problem->m) || !fits(row->n, problem->n) || !fits(row->k, problem->k) ||
        !fits(row->batch, problem->batch))
      continue;
    chosen.tile = row->tile;
    chosen.parts = row->parts;
    break;
  }
  return chosen;
}

kdl_matmul_gpu_plan gpu_plan(const gpu_machine *machine, const gpu_tile *tiles,
                             const kdl_matmul_gpu_problem *problem) {
  kdl_matmul_gpu_plan best = {0};
  uint64_t least = UINT64_MAX;
  for (uint32_t size = 0; size < GPU_SIZES && tiles[size].rows; ++size) {
    const gpu_tile *tile = &tiles[size];
    if (problem->tile && problem->tile != size + 1)
      continue;
    const uint64_t count =
        divide_up(problem->m, tile->rows) * divide_up(problem->n, tile->columns) * problem->batch;
    const uint64_t steps = divide_up(problem->k, tile->depth);
    for (uint32_t parts = 1; parts <= most_parts; ++parts) {
      const uint64_t needed = workspace_of(tile, count, parts);
      if (problem->parts && problem->parts != parts)
        continue;
      if (parts > 1 && (!allows_parts(tile, count, parts) || needed > problem->workspace.size ||
                        (!problem->parts && steps < 2 * (uint64_t)parts)))
        continue;
      const uint64_t cost = plan_cost(machine, tile, problem, parts, count);
      if (cost >= least)
        continue;
      least = cost;
      const uint64_t work = count * parts;
      uint64_t groups = machine->group_bytes / (tile->group_bytes + 1024);
      groups = (groups < 1 ? 1 : groups) * machine->units;
      if (parts > 1 && tile->is_bulk) /* one tile each */
        groups = work;
      best = (kdl_matmul_gpu_plan){.tile = size,
                                   .rows = tile->rows,
                                   .columns = tile->columns,
                                   .parts = parts,
                                   .groups = (uint32_t)(work < groups ? work : groups),
                                   .workspace = needed};
    }
  }
  return best;
}
