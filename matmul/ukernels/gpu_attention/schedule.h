/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which queries a group has, in which order, and which keys they need. */
#ifndef KDL_MATMUL_UKERNELS_GPU_ATTENTION_SCHEDULE_H
#define KDL_MATMUL_UKERNELS_GPU_ATTENTION_SCHEDULE_H

#include <kdl/gpu_mma_async.h>
#include <kdl/kernel.h>

#include "matmul/attention_arguments.h"

#define INLINE static inline __attribute__((always_inline))

typedef kdl_gpu_bf16 element;
#define microkernel(function) kdl_uk_gpu_mma_async_f32_bf16_##function

/* Constants, once the microkernel is linked. */
typedef struct {
  int32_t head;       /* values of a row of Q, K, V and O */
  int32_t rows, keys; /* of the tile: queries, and keys of a block */
  int32_t subgroups, producers;
  int32_t stages; /* of K, and of V */
  int32_t is_causal;
} tiling;

/* A tile of queries of one head. */
typedef struct {
  uint32_t row;
  uint32_t head, batch;
  uint32_t blocks; /* of keys that its queries need: the first ones */
} work;

INLINE tiling tiling_of(int32_t head, int32_t is_causal) {
  const uint32_t tile = microkernel(tile)(head);
  tiling t = {.head = head, .is_causal = is_causal};
  t.rows = KDL_GPU_MMA_ROWS(tile);
  t.keys = KDL_GPU_MMA_COLUMNS(tile);
  t.subgroups = KDL_GPU_MMA_SUBGROUPS(tile);
  t.producers = KDL_GPU_MMA_PRODUCERS(tile);
  t.stages = (int32_t)microkernel(group_bytes)(head) / (4 * head * t.keys);
  return t;
}

INLINE uint32_t divide_up(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

/* How many keys, of the first ones, a query has. */
INLINE uint32_t keys_of(const kdl_grid_constant_attention *args, tiling t, uint32_t row) {
  const int64_t limit = (int64_t)row + args->diagonal + 1;
  if (!t.is_causal || limit >= args->keys)
    return args->keys;
  return limit < 0 ? 0 : (uint32_t)limit;
}

INLINE uint32_t work_count(const kdl_grid_constant_attention *args) {
  return args->tiles * args->slices;
}

/* The number of the tile that a group takes next; after the last, numbers that no tile has. With a
 * counter, it is the first that no group has; the last one that asks leaves the counter at zero.
 * Otherwise groups take turns, there and back, so that none has the longest tile of each turn. */
INLINE uint32_t next_number(const kdl_grid_constant_attention *args, uint32_t turn) {
  const uint32_t groups = __gpu_num_blocks(0), group = __gpu_block_id(0);
  if (!args->counter)
    return turn * groups + (turn % 2 ? groups - 1 - group : group);
  if (!turn)
    return group;
  __gpu_global uint32_t *counter = (__gpu_global uint32_t *)args->counter;
  const uint32_t taken = kdl_atomic_add(counter, 1u);
  if (taken + 1 == work_count(args))
    *counter = 0;
  return groups + taken;
}

/* Tiles of a band of heads are neighbours, so that groups that run at one time share keys and
 * values in L2; in a band, tiles with the most keys come first. */
INLINE work work_of(const kdl_grid_constant_attention *args, tiling t, uint32_t number) {
  const uint32_t of_band = args->band * args->tiles;
  const uint32_t band = number / of_band, in_band = number - band * of_band;
  const uint32_t first = band * args->band;
  const uint32_t slices = args->slices - first < args->band ? args->slices - first : args->band;
  const uint32_t tile = in_band / slices, slice = first + in_band - tile * slices;
  work w = {.batch = slice / args->heads, .row = (args->tiles - 1 - tile) * (uint32_t)t.rows};
  w.head = slice - w.batch * args->heads;
  const uint32_t end = w.row + (uint32_t)t.rows;
  const uint32_t last = (end < args->queries ? end : args->queries) - 1;
  w.blocks = divide_up(keys_of(args, t, last), (uint32_t)t.keys);
  return w;
}

#endif
