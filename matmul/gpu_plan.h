/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tile and the division of K for a shape on a GPU. */
#ifndef KDL_MATMUL_GPU_PLAN_H
#define KDL_MATMUL_GPU_PLAN_H

#include "matmul/gpu_arguments.h"

#include <kdl/matmul_gpu.h>

typedef struct gpu_machine {
  uint32_t units;       /* multiprocessors */
  uint32_t group_bytes; /* group memory of one */
} gpu_machine;

enum { GPU_COUNTER_BYTES = 64 << 10 }; /* the first part of a workspace: a counter for each tile */

/* Dynamic group memory of a launch. */
static inline uint32_t gpu_group_bytes(const gpu_tile *tile, uint32_t stages) {
  return stages * tile->stage_bytes + tile->other_bytes;
}

/* Clears the tiles that cannot be launched on the machine: a microkernel may be a user's. Fails
 * with what is wrong where none is left, and where a tile has numbers that none can have. */
kdl_status gpu_leave_out_tiles(const gpu_machine *machine, gpu_tile *tiles);

/* Tiles along M that are neighbours: about so many that tiles that are computed at one time make a
 * square, which reads the least. */
uint32_t gpu_band(const gpu_machine *machine, const gpu_tile *tile, uint32_t m);

/* Tiles of all results, which kernels count by 32 bits; UINT64_MAX where they are more than they
 * can count. */
uint64_t gpu_tile_count(const gpu_tile *tile, const kdl_matmul_gpu_problem *problem);

/* Whether a launch is to begin while the one before it on the queue runs. */
int gpu_begins_early(const gpu_machine *machine, const gpu_tile *tile, uint64_t tiles,
                     const kdl_matmul_gpu_plan *plan);

/* The plan of the least cost of those that the problem allows, which is not empty; rows are 0 where
 * there is none. */
kdl_matmul_gpu_plan gpu_plan(const gpu_machine *machine, const gpu_tile *tiles,
                             const kdl_matmul_gpu_problem *problem);

#endif
