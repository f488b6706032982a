/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which parts of the result a group computes, in which order. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_SCHEDULE_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_SCHEDULE_H

#include <kdl/gpu_mma.h>
#include <kdl/kernel.h>

#include "matmul/gpu_arguments.h"

#define INLINE static inline __attribute__((always_inline))

typedef uint32_t chunk __attribute__((vector_size(16)));

/* A number that the compiler takes for another one each time. Or it would make a copy of the loop
 * around for each of its values, or keep what is computed from it in registers. */
INLINE uint32_t opaque(uint32_t number) {
  __asm__ volatile("" : "+r"(number));
  return number;
}

/* The lane, for addresses of stores: those that live while a tile is multiplied would take
 * registers from the sums. */
INLINE uint32_t lane_of_store(void) {
  return opaque(__gpu_lane_id());
}

/* The tile of the linked microkernel and the number of tiles: constants but for the last four. */
typedef struct {
  int32_t intrinsics_m, intrinsics_n, subgroups_m, subgroups_n, producers, is_bulk;
  int32_t rows, columns, depth;
  int32_t is_plain; /* operands and result by bulk copies, no parts of K, no epilogue */
  uint32_t tiles_m, tiles_n, steps, work;
} tiling;

/* One tile, or a part of K of it. */
typedef struct {
  uint32_t row, column, batch;
  uint32_t first_step, last_step; /* along K, in stages */
  uint32_t tile, part;
  uint32_t parts; /* of K */
} work;

INLINE uint32_t divide_up(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

INLINE uint32_t parts_of(const kdl_grid_constant_matmul *args, tiling t) {
  return t.is_plain ? 1 : args->parts;
}

INLINE tiling tiling_of(const kdl_grid_constant_matmul *args, uint32_t tile, int32_t is_plain) {
  tiling t;
  t.is_plain = is_plain;
  t.intrinsics_m = KDL_GPU_MMA_INTRINSICS_M(tile);
  t.intrinsics_n = KDL_GPU_MMA_INTRINSICS_N(tile);
  t.subgroups_m = KDL_GPU_MMA_SUBGROUPS_M(tile);
  t.subgroups_n = KDL_GPU_MMA_SUBGROUPS_N(tile);
  t.producers = KDL_GPU_MMA_PRODUCERS(tile);
  t.is_bulk = KDL_GPU_MMA_IS_BULK(tile);
  t.rows = KDL_GPU_MMA_ROWS(tile);
  t.columns = KDL_GPU_MMA_COLUMNS(tile);
  t.depth = kdl_gpu_mma_panel_bytes / (int32_t)sizeof(element);
  t.tiles_m = divide_up(args->m, (uint32_t)t.rows);
  t.tiles_n = divide_up(args->n, (uint32_t)t.columns);
  t.steps = divide_up(args->k, (uint32_t)t.depth);
  t.work = t.tiles_m * t.tiles_n * args->batch;
  if (parts_of(args, t) > 1)
    t.work = args->whole + (t.work - args->whole) * args->parts;
  return t;
}

/* Groups take works in turn. */
INLINE uint32_t first_work(void) {
  return __gpu_block_id(0);
}
INLINE uint32_t work_step(void) {
  return __gpu_num_blocks(0);
}

/* The first tiles may be whole, and the others in parts. Parts of K of a tile are neighbours, since
 * they are added up when the last one is done. Tiles go
 * in bands of args->band rows of tiles, down and then to the right, and in every second band to the
 * left, so that groups that run at one time share operands in L2. */
INLINE work work_of(const kdl_grid_constant_matmul *args, tiling t, uint32_t number) {
  work w = {.tile = number, .parts = 1};
  if (parts_of(args, t) > 1 && number >= args->whole) { /* a division takes longer than a branch */
    const uint32_t of_divided = number - args->whole, tile = of_divided / args->parts;
    w.tile = args->whole + tile;
    w.part = of_divided - tile * args->parts;
    w.parts = args->parts;
  }
  const uint32_t of_batch = t.tiles_m * t.tiles_n, of_band = args->band * t.tiles_n;
  w.batch = w.tile < of_batch ? 0 : w.tile / of_batch;
  const uint32_t in_batch = w.tile - w.batch * of_batch;
  const uint32_t band = in_batch < of_band ? 0 : in_batch / of_band;
  const uint32_t in_band = in_batch - band * of_band;
  const uint32_t first = band * args->band;
  const uint32_t height = t.tiles_m - first < args->band ? t.tiles_m - first : args->band;
  w.row = (first + in_band % height) * (uint32_t)t.rows;
  const uint32_t across = in_band / height;
  w.column = (band % 2 ? t.tiles_n - 1 - across : across) * (uint32_t)t.columns;
  const uint32_t of_part = w.parts > 1 ? divide_up(t.steps, opaque(w.parts)) : t.steps;
  w.first_step = w.part * of_part < t.steps ? w.part * of_part : t.steps;
  w.last_step = w.first_step + of_part < t.steps ? w.first_step + of_part : t.steps;
  return w;
}

#endif
