/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The macro kernel: one group's part of C, in tiles. matmul.h includes this and explains the types.
 */
#include "tile.h"

enum {
  small_b = 1 << 18, /* bytes of B that stay in L2 while all of A is multiplied with them */
  few_rows = 32,     /* for which memory takes longer than the multiplications */
};

/* Rows are divided evenly into tiles: 64 are 5 tiles of 12 or 13, not 4 of 14 and one of 8. In
 * blocks, only the last tile is smaller. */
typedef struct division {
  int32_t parts, size, larger, whole; /* the first `larger` parts have one more */
} division;

INLINE division divide(int32_t whole, int32_t largest) {
  int32_t parts = (whole + largest - 1) / largest;
  if (has_blocks())
    return (division){parts, largest, 0, whole};
  return (division){parts, parts ? whole / parts : 0, parts ? whole % parts : 0, whole};
}
INLINE int32_t part_begin(division by, int32_t part) {
  return part * by.size + min_i32(part, by.larger);
}
INLINE int32_t part_size(division by, int32_t part) {
  return min_i32(by.size + (part < by.larger), by.whole - part_begin(by, part));
}

/* A group's part of C and one block of K. */
typedef struct macro_kernel {
  const element *a;
  matrix a_shape;
  int in_place;        /* A is not packed, except for a tile that packs B */
  lhs_element *packed; /* the tiles of A from first_tile on */
  size_t kept_size;    /* bytes for them */
  int32_t *configured; /* of the microkernel: in blocks */
  int32_t first_tile, end_tile;
  rhs_element *b;                /* packed, or the memory that the first tile packs it into */
  result *bias;                  /* NULL: none */
  int32_t b_words, b_first_word; /* of each vector of B; the first one of the block */
  const element *source;         /* unpacked B; NULL: B is packed */
  matrix source_shape;
  ptrdiff_t prefetch_distance; /* how far ahead of the reads B is prefetched */
  int keeps_all_of_rhs;        /* all of B is kept packed, not one panel */
  result *c;
  matrix c_shape;
  int32_t rows, width; /* of C */
  int streams;         /* all of C has few rows; its groups add in one order, however many */
  int32_t bias_rows;   /* before those of C, in the first tile */
  division tiles;      /* of all rows */
  int32_t values_of_k, first_word;
  tile_params params, packing_params;
} macro_kernel;

/* The microkernel reads unpacked A where its rows have no gaps and do not map to the same sets of
 * L1, as rows do that are a multiple of 4 KiB apart. Blocks take any distance of rows, but have
 * more of them, and load whole lines of each for every panel of B: lines that do not begin where
 * those of the cache do take twice as long. */
INLINE int can_be_in_place(const macro_kernel *s, int32_t words, int32_t most) {
  enum { page = 4096, half_page = 2048 };
  matrix a = s->a_shape;
  if (!lhs_is_a || a.column_stride != 1 || words * values != s->values_of_k)
    return 0;
  if (has_blocks()) {
    ptrdiff_t row = a.row_stride * (ptrdiff_t)sizeof(element);
    int is_split = ((uintptr_t)s->a | (uintptr_t)row) % line_bytes != 0;
    return s->width <= tile_vectors() * columns || (row % half_page && !is_split);
  }
  return s->rows > stream_rows && words <= most && a.row_stride == s->values_of_k &&
         words % tile_steps() == 0 && words * 4 % page;
}

/* The first tile packs B. It may have a row for the bias, which is no row of C. */
INLINE int packs_rhs(const macro_kernel *s, int32_t tile) {
  return s->source && !tile;
}
INLINE int32_t first_row(const macro_kernel *s, int32_t tile) {
  return tile ? part_begin(s->tiles, tile) - s->bias_rows : 0;
}

INLINE lhs_element *packed_tile(const macro_kernel *s, int32_t tile) {
  int32_t rows = part_begin(s->tiles, tile) - part_begin(s->tiles, s->first_tile);
  return s->packed + (ptrdiff_t)rows * s->params.depth * values;
}

INLINE const lhs_element *macro_kernel_lhs(const macro_kernel *s, int32_t tile) {
  if (s->in_place && !packs_rhs(s, tile))
    return (const void *)(s->a + first_row(s, tile) * s->a_shape.row_stride);
  return packed_tile(s, tile);
}

/* Whether panels of B are used unpacked, because no other tile needs them packed. The left operand
 * is packed by steps then. */
INLINE int uses_unpacked_rhs(const macro_kernel *s) {
  return values == 1 && s->source && s->source_shape.column_stride == 1 && s->tiles.parts == 1;
}
INLINE lhs_element *packed_steps(const macro_kernel *s) {
  return s->packed + (ptrdiff_t)s->rows * s->params.depth * values;
}

INLINE void macro_kernel_pack_lhs(const macro_kernel *s, int32_t tile) {
  const element *a = s->a + first_row(s, tile) * s->a_shape.row_stride +
                     (ptrdiff_t)s->first_word * values * s->a_shape.column_stride;
  lhs_tile to = {packed_tile(s, tile), part_size(s->tiles, tile), tile ? 0 : s->bias_rows,
                 s->params.depth};
  if (uses_unpacked_rhs(s))
    pack_steps(packed_steps(s), a, s->a_shape, s->rows, to.depth);
  if (to.above)
    pack_zeros(to);
  pack_rows(to, a, s->a_shape, s->values_of_k - s->first_word * values);
}

/* Packs the part of a panel that its tile cannot: an incomplete vector or word. */
INLINE void macro_kernel_prepare_panel(macro_kernel *s, tile_args *at, int32_t column) {
  int32_t left = s->values_of_k - s->first_word * values, depth = s->params.depth;
  int32_t vectors = (at->width + columns - 1) / columns;
  ptrdiff_t step = vectors * columns * values;
  int by_tile = s->source_shape.column_stride == 1 && at->width == tile_vectors() * columns;
  int32_t lots = by_tile ? min_i32(depth, left / values) / steps : 0, word = lots * steps;
  at->source = s->source + column * s->source_shape.column_stride +
               (ptrdiff_t)s->first_word * values * s->source_shape.row_stride;
  at->has_bias_row = s->bias_rows;
  if (by_tile && uses_unpacked_rhs(s)) {
    at->origin = not_packed;
    at->lhs = packed_steps(s);
    return;
  }
  at->origin = lots ? packed_in_tile : packed_before;
  s->packing_params.step_blocks = lots ? lots : depth / steps;
  s->packing_params.step_block_stride = s->tiles.parts > 1 ? steps * step : 0;
  s->packing_params.tail_offset = s->tiles.parts > 1 || !lots ? word * step : steps * step;
  if (depth > word)
    pack_vectors((panels){at->rhs + s->packing_params.tail_offset, depth - word, vectors, vectors},
                 0, at->source + (ptrdiff_t)word * values * s->source_shape.row_stride,
                 s->source_shape, depth - word, left - word * values, at->width);
}

/* Each tile fetches a part of the next panel, packed or as it lies: the first tile would wait for
 * it otherwise, and memory for the other tiles. Words of several values are multiplied before it
 * comes, with and without that. */
INLINE void macro_kernel_fetch(const macro_kernel *s, tile_args *at, int32_t tile, int32_t column) {
  const int32_t panel = tile_vectors() * columns, parts = s->end_tile - s->first_tile;
  const int32_t first = steps * (tile - s->first_tile) / parts;
  const int32_t end = steps * (tile + 1 - s->first_tile) / parts;
  const int lies = s->rows > 2 * few_rows && s->source_shape.column_stride == 1;
  if (values > 1)
    return;
  if (s->params.adds && s->c_shape.column_stride == 1 && tile + 1 < s->end_tile)
    at->next_c = at->c + at->rows * s->c_shape.row_stride;
  if (parts < 3 || first == end || column + panel >= s->width)
    return;
  if (s->source && (!lies || s->keeps_all_of_rhs))
    return;
  at->fetched_stride = panel * (ptrdiff_t)sizeof(rhs_element);
  at->fetched = (const char *)(at->rhs + (ptrdiff_t)panel * s->b_words);
  if (s->source) {
    at->fetched_stride = s->source_shape.row_stride * (ptrdiff_t)sizeof(element);
    at->fetched = (const char *)(s->source + column + panel +
                                 (ptrdiff_t)s->first_word * s->source_shape.row_stride);
  }
  at->fetched += first * at->fetched_stride;
  at->fetched_steps = end - first;
}

INLINE void macro_kernel_tile(macro_kernel *s, int32_t tile, int32_t column) {
  int32_t width = min_i32(tile_vectors() * columns, s->width - column);
  int32_t vectors = (width + columns - 1) / columns,
          kept = s->source && !s->keeps_all_of_rhs ? 0 : column;
  ptrdiff_t vector = (ptrdiff_t)kept / columns * s->b_words + (ptrdiff_t)s->b_first_word * vectors;
  const tile_params *f = &s->params;
  tile_args at = {.lhs = macro_kernel_lhs(s, tile),
                  .rhs = s->b + vector * columns * values,
                  .bias = s->bias ? s->bias + kept : 0,
                  .c = s->c + first_row(s, tile) * s->c_shape.row_stride +
                       column * s->c_shape.column_stride,
                  .rows = part_size(s->tiles, tile),
                  .width = width};
  if (packs_rhs(s, tile)) {
    macro_kernel_prepare_panel(s, &at, column);
    f = &s->packing_params;
  }
  macro_kernel_fetch(s, &at, tile, column);
  if (s->c_shape.column_stride == 1)
    run_tile(f, &at);
  else
    run_strided_tile(f, &at, s->c_shape);
}

INLINE int is_small(const macro_kernel *s) {
  return (ptrdiff_t)s->width * s->params.depth * values * (ptrdiff_t)sizeof(rhs_element) <= small_b;
}

/* While B is small, the tiles of A are packed one by one, each just before its use, so that packing
 * and multiplying overlap. Otherwise each panel of B is used for all tiles in turn. */
static void macro_kernel_run(macro_kernel *s) {
  int32_t panel = tile_vectors() * columns;
  int one_by_one = s->source ? s->keeps_all_of_rhs : is_small(s);
  for (int32_t tile = s->first_tile; tile < s->end_tile; ++tile) {
    if (!s->in_place || packs_rhs(s, tile))
      macro_kernel_pack_lhs(s, tile);
    for (int32_t column = 0; one_by_one && column < s->width; column += panel)
      macro_kernel_tile(s, tile, column);
  }
  for (int32_t column = 0; !one_by_one && column < s->width; column += panel)
    for (int32_t tile = s->first_tile; tile < s->end_tile; ++tile)
      macro_kernel_tile(s, tile, column);
}
