/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/gpu_plan.h"

/* Of a multiprocessor, in cycles, as seen on an H200. 128 by 256 by 64 values of two bytes take
 * 1024 cycles of its tensor cores. It reads some 64 bytes a cycle, and 40 where parts of K are read
 * at one time and L2 does not hold both operands. A stage is there 2000 cycles after it was asked
 * for. */
enum { values_per_cycle = 32, whole_bytes = 64, parts_bytes = 40, latency = 2000 };
enum { cache_size = 40 << 20, most_parts = 16, most_stages = 12, reserved_bytes = 1024 };

static uint64_t divide_up(uint64_t a, uint64_t b) {
  return (a + b - 1) / b;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Cycles of one step along K, for `groups` on a multiprocessor. What is outside of a matrix is not
 * read. */
static uint64_t step_cost(const gpu_tile *tile, const kdl_matmul_gpu_problem *problem,
                          uint32_t parts, uint64_t groups, uint64_t stages) {
  const uint64_t bytes = 128 / tile->depth; /* of a value */
  const uint64_t operands =
      ((uint64_t)problem->m + problem->n) * problem->k * bytes * problem->batch;
  const uint64_t lines = least(tile->rows, problem->m) + least(tile->columns, problem->n);
  const uint64_t multiply = (uint64_t)tile->rows * tile->columns / values_per_cycle * groups;
  const uint64_t copy =
      lines * 128 * groups / (operands > cache_size && parts > 1 ? parts_bytes : whole_bytes);
  const uint64_t wait = latency / stages;
  return multiply > copy ? (multiply > wait ? multiply : wait) : copy > wait ? copy : wait;
}

/* Groups that run at one time on a multiprocessor. */
static uint64_t resident_groups(const gpu_machine *machine, const gpu_tile *tile, uint32_t stages) {
  uint64_t groups = machine->group_bytes / (gpu_group_bytes(tile, stages) + reserved_bytes);
  return groups < 1 ? 1 : groups;
}

/* As many stages as one group can have, where a multiprocessor has no other. */
static uint32_t stages_of(const gpu_machine *machine, const gpu_tile *tile, uint64_t work) {
  const uint32_t room = machine->group_bytes - reserved_bytes - tile->other_bytes;
  const uint32_t stages = room / tile->stage_bytes;
  if (!GPU_HAS_DEEPER_RING(tile->is_bulk, tile->subgroups) || work > machine->units ||
      stages <= tile->stages)
    return tile->stages;
  return stages < most_stages ? stages : most_stages;
}

/* Multiprocessors that clusters of 3 and more groups can have: these are in sets of 16 to 18, and a
 * cluster is in one set. */
static uint64_t cluster_units(const gpu_machine *machine, uint32_t parts) {
  return machine->units < 18 ? machine->units : machine->units / 18 * (16 / parts) * parts;
}

static uint64_t plan_cost(const gpu_machine *machine, const gpu_tile *tile,
                          const kdl_matmul_gpu_problem *problem, uint32_t parts, uint64_t tiles) {
  const uint64_t work = tiles * parts, values = (uint64_t)tile->rows * tile->columns;
  const uint64_t steps = divide_up(divide_up(problem->k, tile->depth), parts);
  const uint32_t stages = stages_of(machine, tile, work);
  const uint64_t units =
      parts > 2 && tile->is_bulk ? cluster_units(machine, parts) : machine->units;
  const uint64_t groups = least(resident_groups(machine, tile, stages), divide_up(work, units));
  const uint64_t waves = divide_up(work, units * groups);
  const uint64_t begin = 1000, store = values / 16;
  const uint64_t add = parts < 2       ? 0
                       : tile->is_bulk ? 4500 + parts * values / 13
                                       : 4000 + parts * values / 10;
  if (parts > 1 && waves > 1) /* what divides K is that multiprocessors are free */
    return UINT64_MAX / 2;
  return waves * (steps * step_cost(tile, problem, parts, groups, stages) + groups * store) + add +
         begin;
}

/* With bulk copies there are clusters, and parts are added up in group memory. */
static uint64_t workspace_of(const gpu_tile *tile, uint64_t tiles, uint32_t parts) {
  return parts < 2 || tile->is_bulk
             ? 0
             : GPU_COUNTER_BYTES + tiles * parts * tile->rows * tile->columns * 4;
}

/* A cluster has 8 groups at most. The sums of the subgroups that a group adds up, of all parts,
 * take the place of the ring. */
static int allows_parts(const gpu_tile *tile, uint64_t tiles, uint32_t parts) {
  const uint64_t sums = 4 * (uint64_t)tile->rows * tile->columns / tile->subgroups;
  if (!tile->is_bulk)
    return tiles <= GPU_COUNTER_BYTES / 4;
  return parts <= 8 &&
         divide_up(tile->subgroups, parts) * parts * sums <= tile->stages * tile->stage_bytes;
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
  uint64_t lowest = UINT64_MAX;
  for (uint32_t size = 0; size < GPU_SIZES; ++size) {
    const gpu_tile *tile = &tiles[size];
    if (!tile->rows || (problem->tile && problem->tile != size + 1))
      continue;
    const uint64_t count =
        divide_up(problem->m, tile->rows) * divide_up(problem->n, tile->columns) * problem->batch;
    const uint64_t steps = divide_up(problem->k, tile->depth);
    const uint64_t most_work = 8 * (uint64_t)machine->units; /* no more groups run at one time */
    for (uint32_t parts = 1; parts <= most_parts; ++parts) {
      if (parts > 1 && !problem->parts && count * parts > most_work)
        break;
      const uint64_t needed = workspace_of(tile, count, parts);
      if (problem->parts && problem->parts != parts)
        continue;
      if (parts > 1 && (!allows_parts(tile, count, parts) || needed > problem->workspace.size ||
                        (!problem->parts && steps < 2 * (uint64_t)parts)))
        continue;
      const uint64_t cost = plan_cost(machine, tile, problem, parts, count);
      if (cost + cost / 32 >= lowest) /* the larger tile and fewer parts, if it is close */
        continue;
      lowest = cost;
      const uint64_t work = count * parts;
      const uint32_t stages = stages_of(machine, tile, work);
      uint64_t groups = least(work, resident_groups(machine, tile, stages) * machine->units);
      if (parts > 1 && tile->is_bulk) /* one tile each */
        groups = work;
      best = (kdl_matmul_gpu_plan){.tile = size,
                                   .rows = tile->rows,
                                   .columns = tile->columns,
                                   .parts = parts,
                                   .stages = stages,
                                   .groups = (uint32_t)groups,
                                   .workspace = needed};
    }
  }
  return best;
}
