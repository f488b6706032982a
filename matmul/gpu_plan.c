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

/* Cycles of the multiplication of a stage. The instruction reads group memory at 128 bytes a cycle,
 * as the copies write it; a third of what that takes longer is seen. */
static uint64_t multiply_cost(const gpu_tile *tile) {
  const uint64_t cycles = (uint64_t)tile->rows * tile->columns / values_per_cycle;
  const uint64_t lines = divide_up(tile->rows, 64) * (64 + tile->columns);
  const uint64_t memory = lines + tile->rows + tile->columns;
  return memory > cycles ? cycles + (memory - cycles) / 3 : cycles;
}

/* Cycles of one step along K, for `groups` on a multiprocessor. What is outside of a matrix is not
 * read. */
static uint64_t step_cost(const gpu_tile *tile, const kdl_matmul_gpu_problem *problem,
                          uint32_t parts, uint64_t groups, uint64_t stages) {
  const uint64_t bytes = 128 / tile->depth; /* of a value */
  const uint64_t operands =
      ((uint64_t)problem->m + problem->n) * problem->k * bytes * problem->batch;
  const uint64_t lines = least(tile->rows, problem->m) + least(tile->columns, problem->n);
  const uint64_t multiply = multiply_cost(tile) * groups;
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

/* Multiprocessors that clusters of 3 and more groups can have: these are in sets of 8 to 18, and a
 * cluster is in one set. An H200 has room for 39 clusters of 3, 30 of 4, 22 of 5, 17 of 6, and 15
 * of 7 and 8. */
static uint64_t cluster_units(const gpu_machine *machine, uint32_t groups) {
  const uint64_t in_sets = (uint64_t)(machine->units / 18) * (16 / groups),
                 share = machine->units * 4 / 5;
  const uint64_t clusters = in_sets > share / groups ? in_sets : share / groups;
  return machine->units < 18 ? machine->units : clusters * groups;
}

/* How K is divided: tiles after the first `whole` have parts, of which those of a cluster are added
 * up in group memory, and the sums of clusters in the memory of the device. */
typedef struct division {
  uint64_t tiles, whole;
  uint32_t parts, cluster;
} division;

static uint64_t work_of(division d) {
  return d.parts > 1 ? d.whole + (d.tiles - d.whole) * d.parts : d.tiles;
}

/* Cycles to add the parts of a tile up. A subgroup adds up what its likes have stored. */
static uint64_t add_cost(const gpu_tile *tile, division d) {
  const uint64_t values = (uint64_t)tile->rows * tile->columns, stored = d.parts / d.cluster;
  const uint64_t in_cluster = d.cluster > 1 ? 4500 + d.cluster * values / 13 : 0;
  return in_cluster + (stored > 1 ? 8000 + stored * values / 6 / d.cluster : 0);
}

static uint64_t plan_cost(const gpu_machine *machine, const gpu_tile *tile,
                          const kdl_matmul_gpu_problem *problem, division d) {
  const uint64_t work = work_of(d), values = (uint64_t)tile->rows * tile->columns;
  const uint64_t steps = divide_up(problem->k, tile->depth);
  const uint32_t stages = stages_of(machine, tile, work);
  const uint64_t units = d.cluster > 2 ? cluster_units(machine, d.cluster) : machine->units;
  const uint64_t groups = least(resident_groups(machine, tile, stages), divide_up(work, units));
  const uint64_t begin = 1000, store = groups * values / 8;
  const uint64_t step = step_cost(tile, problem, d.whole ? 1 : d.parts, groups, stages);
  const uint64_t whole_waves = divide_up(d.parts > 1 ? d.whole : d.tiles, units * groups);
  /* While one half of the subgroups stores, the other multiplies, but for the last tile. */
  const uint64_t whole = whole_waves * (steps * step + store / 4) + begin;
  if (d.parts < 2)
    return whole + store * 3 / 4;
  const uint64_t waves = divide_up((d.tiles - d.whole) * d.parts, units * groups);
  if (!d.whole && waves > 1) /* what divides K is that multiprocessors are free */
    return UINT64_MAX / 2;
  return whole + waves * (divide_up(steps, d.parts) * step + store) + store * 3 / 4 +
         add_cost(tile, d);
}

static uint64_t workspace_of(const gpu_tile *tile, division d) {
  const uint64_t stored = (d.tiles - d.whole) * (d.parts / d.cluster);
  return d.parts == d.cluster ? 0 : GPU_COUNTER_BYTES + stored * tile->rows * tile->columns * 4;
}

/* A cluster has 8 groups at most. The sums of the subgroups that a group adds up, of all parts,
 * take the place of the ring. */
static int allows_cluster(const gpu_tile *tile, uint32_t cluster) {
  const uint64_t sums = 4 * (uint64_t)tile->rows * tile->columns / tile->subgroups;
  return cluster < 2 || (tile->is_bulk && cluster <= 8 &&
                         divide_up(tile->subgroups, cluster) * cluster * sums <=
                             (uint64_t)tile->stages * tile->stage_bytes);
}

/* Counters are in the first part of the workspace. */
static int allows_division(const gpu_tile *tile, const kdl_matmul_gpu_problem *problem,
                           division d) {
  const uint64_t steps = divide_up(problem->k, tile->depth);
  return work_of(d) <= INT32_MAX && allows_cluster(tile, d.cluster) &&
         workspace_of(tile, d) <= problem->workspace.size &&
         (d.parts == d.cluster || (d.tiles - d.whole) * tile->subgroups <= GPU_COUNTER_BYTES / 4) &&
         (problem->parts || d.parts < 2 || steps >= 2 * (uint64_t)d.parts);
}

uint64_t gpu_tile_count(const gpu_tile *tile, const kdl_matmul_gpu_problem *problem) {
  const uint64_t of_one = divide_up(problem->m, tile->rows) * divide_up(problem->n, tile->columns);
  return of_one > INT32_MAX || of_one * problem->batch > INT32_MAX ? UINT64_MAX
                                                                   : of_one * problem->batch;
}

uint32_t gpu_band(const gpu_machine *machine, const gpu_tile *tile, uint32_t m) {
  const uint32_t rows = (uint32_t)divide_up(m, tile->rows);
  const uint64_t area = (uint64_t)machine->units * tile->columns;
  uint64_t side = 1;
  while ((side + 1) * (side + 1) * tile->rows <= area)
    ++side;
  const uint64_t bands = (rows + side / 2) / side;
  return bands ? (uint32_t)divide_up(rows, bands) : rows;
}

/* It pays where each group has one tile, and groups of the launch before leave room for all of this
 * one at once: half of the multiprocessors, or when they end (in microseconds, early and not:
 * 1x4096x4096 on 64 of 132 10.3 and 11.3, 2048x2048x2048 on 128 23.6 and 24.4; 32x6144x4096 on 96
 * 16.9 and 16.1, 16x1024x1024x1024 on 132 with 4 tiles each 50.2 and 49.8). */
int gpu_begins_early(const gpu_machine *machine, const gpu_tile *tile, uint64_t tiles,
                     const kdl_matmul_gpu_plan *plan) {
  const uint64_t units = machine->units;
  return tile->is_bulk && plan->groups >= tiles * plan->parts &&
         (plan->groups <= units / 2 ||
          (plan->groups >= units - units / 16 && plan->groups <= units));
}

static kdl_matmul_gpu_plan plan_of(const gpu_machine *machine, const gpu_tile *tile, uint32_t size,
                                   division d) {
  const uint64_t work = work_of(d);
  const uint32_t stages = stages_of(machine, tile, work);
  const uint64_t resident = resident_groups(machine, tile, stages) * machine->units;
  const int is_one_each = d.cluster > 1;
  return (kdl_matmul_gpu_plan){.tile = size,
                               .rows = tile->rows,
                               .columns = tile->columns,
                               .parts = d.parts,
                               .whole = (uint32_t)d.whole,
                               .cluster = d.cluster,
                               .stages = stages,
                               .groups = (uint32_t)(is_one_each ? work : least(work, resident)),
                               .workspace = workspace_of(tile, d)};
}

/* The next division of K to look at, from one with no parts on: into parts that are added up in
 * memory, in clusters of two and memory, and in clusters; then that of the last tiles alone, which
 * do not fill the multiprocessors. Returns 0 after the last one. */
static int next_division(division *d, uint64_t resident, int allows_tail) {
  const uint64_t tail = d->tiles % resident;
  if (!d->whole && d->parts > 1 && d->cluster < d->parts) {
    d->cluster = d->cluster == 1 && d->parts % 2 == 0 ? 2 : d->parts;
    return 1;
  }
  if (d->parts == most_parts && (d->whole || !allows_tail || d->tiles < resident || !tail))
    return 0;
  if (d->parts == most_parts) {
    d->whole = d->tiles - tail;
    d->parts = 1;
  }
  ++d->parts;
  d->cluster = 1;
  return 1;
}

kdl_matmul_gpu_plan gpu_plan(const gpu_machine *machine, const gpu_tile *tiles,
                             const kdl_matmul_gpu_problem *problem) {
  kdl_matmul_gpu_plan best = {0};
  uint64_t lowest = UINT64_MAX;
  for (uint32_t size = 0; size < GPU_SIZES; ++size) {
    const gpu_tile *tile = &tiles[size];
    if (!tile->rows || (problem->tile && problem->tile != size + 1))
      continue;
    const uint64_t resident = resident_groups(machine, tile, tile->stages) * machine->units;
    division d = {.parts = 1, .cluster = 1};
    d.tiles = gpu_tile_count(tile, problem);
    if (d.tiles == UINT64_MAX)
      continue;
    do {
      if ((problem->parts && problem->parts != d.parts) || !allows_division(tile, problem, d))
        continue;
      const uint64_t cost = plan_cost(machine, tile, problem, d);
      const int is_alike = d.whole && best.whole && best.tile == size;
      if (cost + (is_alike ? 0 : cost / 32) >= lowest) /* the larger tile and no parts if close */
        continue;
      lowest = cost;
      best = plan_of(machine, tile, size, d);
    } while (next_division(&d, resident, tile->is_bulk && !problem->parts));
  }
  return best;
}
