/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The macro kernel in blocks of C, for registers that are tiles. matmul.h includes this and
 * explains the types.
 */
#include "macro_kernel.h"

#ifdef microkernel_block
/* Columns of B, in whole panels, that L2 keeps: as many bytes as of packed A. */
INLINE int32_t kept_columns(const macro_kernel *s) {
  enum { panel = kdl_mma_block_vectors * columns };
  size_t column_size = (size_t)s->params.depth * values * sizeof(rhs_element);
  size_t most = column_size ? s->kept_size / column_size / panel * panel : 0;
  return most < panel ? panel : most < (size_t)s->width ? (int32_t)most : s->width;
}

/* Computes some tiles. Where the columns of C are not adjacent, each goes through a buffer. */
static __attribute__((noinline)) void run_tile_block(const macro_kernel *s, int32_t tile,
                                                     int32_t end) {
  enum { height = kdl_mma_block_rows, panel = kdl_mma_block_vectors * columns };
  result whole[height * panel];
  int32_t first = part_begin(s->tiles, tile), lot = steps * values;
  int32_t rows = min_i32(part_begin(s->tiles, end), s->rows) - first;
  const lhs_element *lhs = macro_kernel_lhs(s, tile) + (s->in_place ? s->first_word * values : 0);
  ptrdiff_t row_distance = s->in_place ? s->a_shape.row_stride : lot;
  ptrdiff_t lot_distance = s->in_place ? lot : height * lot;
  ptrdiff_t last_lot_distance = s->in_place ? lot : rows % height * lot;
  ptrdiff_t tile_distance = height * (s->in_place ? row_distance : s->params.depth * values);
  result *c = s->c + first * s->c_shape.row_stride;
  int apart = s->c_shape.column_stride != 1;
  int32_t most_rows = apart ? height : rows, most_columns = apart ? panel : kept_columns(s);
  for (int32_t column = 0; column < s->width; column += most_columns)
    for (int32_t row = 0; row < rows; row += most_rows) {
      int32_t here = min_i32(most_rows, rows - row),
              width = min_i32(most_columns, s->width - column);
      result *to = c + row * s->c_shape.row_stride + column * s->c_shape.column_stride;
      if (apart && s->params.adds)
        gather_c(whole, panel, to, s->c_shape, here, width);
      microkernel_block((const element *)(lhs + row / height * tile_distance), row_distance,
                        lot_distance, last_lot_distance, tile_distance,
                        s->b + (ptrdiff_t)column * s->b_words * values, s->b_words, s->b_first_word,
                        apart ? whole : to, apart ? panel : s->c_shape.row_stride, s->params.adds,
                        here, width, s->params.depth / steps, s->configured);
      if (apart)
        scatter_c(to, s->c_shape, whole, panel, here, width);
    }
}

/* After the last block. */
INLINE void end_blocks(int32_t *configured) {
  if (has_blocks())
    microkernel_block(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, configured);
}
#else
static void run_tile_block(const macro_kernel *s, int32_t tile, int32_t end) {
  (void)s, (void)tile, (void)end;
}
INLINE void end_blocks(int32_t *configured) {
  (void)configured;
}
#endif

/* As macro_kernel_run, with all tiles in one call where they are not packed one by one. */
static void macro_kernel_run_blocks(const macro_kernel *s) {
  int one_by_one = is_small(s);
  for (int32_t tile = s->first_tile; !s->in_place && tile < s->end_tile; ++tile) {
    macro_kernel_pack_lhs(s, tile);
    if (one_by_one)
      run_tile_block(s, tile, tile + 1);
  }
  if (s->in_place || !one_by_one)
    run_tile_block(s, s->first_tile, s->end_tile);
}

/* Computes a block of K, with as many rows at a time as fit, packed, in `size` bytes. */
INLINE void share_block(macro_kernel *s, int32_t depth, int adds, size_t size) {
  size_t tile_size = (size_t)tile_rows() * (size_t)depth * values * sizeof(lhs_element);
  int all = !tile_size || (s->in_place && !has_blocks());
  s->tiles = divide(s->rows + s->bias_rows, tile_rows());
  s->kept_size = size;
  s->params = (tile_params){.depth = depth,
                            .step_blocks = s->in_place ? 0 : depth / steps,
                            .stride = s->c_shape.row_stride,
                            .adds = adds,
                            .streams = s->streams};
  s->packing_params = s->params;
  s->packing_params.source_stride = s->source_shape.row_stride;
  s->packing_params.prefetch_distance = s->prefetch_distance;
  int32_t at_once = all ? s->tiles.parts : (int32_t)(size / tile_size);
  for (s->first_tile = 0; s->first_tile < s->tiles.parts; s->first_tile += at_once) {
    s->end_tile = min_i32(s->tiles.parts, s->first_tile + at_once);
    if (has_blocks())
      macro_kernel_run_blocks(s);
    else
      macro_kernel_run(s);
  }
}
