/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data-tiled matrix multiplication C = A B or C += A B, as kernels for the CPU that call a
 * microkernel for each tile of C. A file per type defines what follows and includes this one.
 *
 *     element, lhs_element, rhs_element, result      in the matrices; packed, left and right; in C
 *     element_part, rhs_word                         integers: a 16th of what makes 16 words of A;
 *                                                    a column of a vector
 *     values                                         of K in a word
 *     microkernel, microkernel_tile                  <kdl/mma.h>
 *     microkernel_block                              where there is one for these types
 *     pack_name, matmul_name, plain_name             of the kernels
 *     lhs_of(element), lhs_line(16 words' elements)  packed left elements
 *     has_bias, bias_of(sum)                         where sums start
 *     lhs_is_a                                       whether the left elements are those of A
 *
 * Packed B, slowest first: [panels of the tile's vectors][blocks of K][the microkernel's rhs];
 * before it, where has_bias, a result for each column, from which sums start.
 *
 *     for each block of K, of at most `depth` words
 *       for each block of rows of A that fits the group memory: pack it
 *         for each panel of B                        (from L3, then from L1 and L2)
 *           for each tile of rows                    (from L2)
 *             the microkernel                        (in registers)
 *
 * A launch's groups divide C among them: group_count[1] times its rows, group_count[0] times its
 * columns, whatever the numbers are.
 *
 * A matrix B of few columns would fill a vector to a small part. It is the left operand then:
 * C' = B' A', see narrow_run.
 */
#include "pack.h"

/* Group memory for one tile at the full depth. */
#define KDL_KERNEL_SHARED (1 << 18)
#include <kdl/kernel.h>

/* The names are macros, to be replaced before they are pasted. */
#define KERNEL(...) KDL_KERNEL(__VA_ARGS__)

/* Words of K in a block: so many that the sums are seldom put down, so few that a panel of B stays
 * in L2 with the block of A. */
KDL_CONSTANT(int32_t, matmul_depth, 2048);

typedef result fragment __attribute__((ext_vector_type(16), aligned(4)));

enum { max_rows = 16, max_vectors = 2, narrow_columns = 8 };

INLINE int32_t tile_rows(void) {
  return (int32_t)(microkernel_tile() & 0xff);
}
INLINE int32_t tile_vectors(void) {
  return (int32_t)(microkernel_tile() >> 8 & 0xff);
}
INLINE int32_t tile_steps(void) {
  return (int32_t)(microkernel_tile() >> 16);
}

/* Whether C is made in blocks, by registers that are tiles; otherwise in tiles of registers. */
INLINE int has_blocks(void) {
#ifdef microkernel_block
  return tile_steps() == steps;
#else
  return 0;
#endif
}

/* Words of K: in whole lots of 16 where the microkernel takes nothing else. */
INLINE int32_t words_of(uint32_t k) {
  int32_t words = (int32_t)((k + values - 1) / values);
  return has_blocks() ? (words + steps - 1) / steps * steps : words;
}

/* ------------------------------------------------------------------------------------------ */
/* Tiles                                                                                        */

/* What the sums of a tile start from: the bias or zero, and C where it is added to. */
typedef struct origin {
  const result *c; /* NULL: not added to */
  ptrdiff_t stride;
  const result *bias; /* NULL: zero */
} origin;

/* A tile of C that is whole, from `depth` words of the operands. Of the left one, `lots` lots of 16
 * are packed so; the others are one lot, which may be the matrix itself. The sums are named by
 * constants alone once this is inlined, and stay in registers from here to there. */
INLINE void tile(const lhs_element *lhs, const rhs_element *rhs, int32_t depth, int32_t lots,
                 origin start, result *c, ptrdiff_t stride, int32_t rows, int32_t vectors) {
  fragment sums[max_rows * max_vectors], bias[max_vectors];
  for (int32_t vector = 0; vector < vectors; ++vector)
    bias[vector] = has_bias && start.bias ? ((const fragment *)start.bias)[vector] : (fragment)0;
  if (start.c) {
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t vector = 0; vector < vectors; ++vector)
        sums[row * vectors + vector] =
            ((const fragment *)(start.c + row * start.stride))[vector] + bias[vector];
  } else {
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t vector = 0; vector < vectors; ++vector)
        sums[row * vectors + vector] = bias[vector];
  }
  int32_t whole = lots * steps;
  if (lots)
    microkernel(lhs, 0, rhs, 0, (result *)sums, 0, lots, rows, vectors, steps);
  if (depth > whole)
    microkernel(lhs, (ptrdiff_t)whole * rows * values, rhs,
                (ptrdiff_t)whole * vectors * columns * values, (result *)sums, 0, 1, rows, vectors,
                depth - whole);
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t vector = 0; vector < vectors; ++vector)
      ((fragment *)(c + row * stride))[vector] = sums[row * vectors + vector];
}

/* A tile of each height is code of its own, in which the microkernel's arrays are registers. */
static __attribute__((noinline)) void tile_of(const lhs_element *lhs, const rhs_element *rhs,
                                              int32_t depth, int32_t lots, origin start, result *c,
                                              ptrdiff_t stride, int32_t rows, int32_t vectors) {
#define HEIGHT(height)                                                                             \
  case height:                                                                                     \
    if (height > tile_rows())                                                                      \
      break;                                                                                       \
    if (tile_vectors() > 1 && vectors > 1)                                                         \
      tile(lhs, rhs, depth, lots, start, c, stride, height, 2);                                    \
    else                                                                                           \
      tile(lhs, rhs, depth, lots, start, c, stride, height, 1);                                    \
    break;
#define HEIGHTS(base)                                                                              \
  HEIGHT(base + 1)                                                                                 \
  HEIGHT(base + 2)                                                                                 \
  HEIGHT(base + 3)                                                                                 \
  HEIGHT(base + 4) HEIGHT(base + 5) HEIGHT(base + 6) HEIGHT(base + 7) HEIGHT(base + 8)
  switch (rows) { HEIGHTS(0) HEIGHTS(8) }
}

/* Between a part of C and rows of whole vectors. */
static void copy_in(result *whole, ptrdiff_t stride, const result *c, matrix shape, int32_t rows,
                    int32_t width) {
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < stride; ++column)
      whole[row * stride + column] =
          column < width ? c[row * shape.row_stride + column * shape.column_stride] : 0;
}
static void copy_out(result *c, matrix shape, const result *whole, ptrdiff_t stride, int32_t rows,
                     int32_t width) {
  for (int32_t row = 0; row < rows; ++row) {
    result *to = c + row * shape.row_stride;
    const result *from = whole + row * stride;
    for (int32_t at = 0; shape.column_stride == 1 && at < width; at += columns)
      __builtin_masked_store(first_lanes(width - at), *(const fragment *)(from + at), to + at);
    for (int32_t column = 0; shape.column_stride != 1 && column < width; ++column)
      to[column * shape.column_stride] = from[column];
  }
}

/* At the edge of C, or where its columns are apart: by way of a whole tile. */
static __attribute__((noinline)) void edge_of(const lhs_element *lhs, const rhs_element *rhs,
                                              int32_t depth, int32_t lots, origin start, result *c,
                                              matrix shape, int32_t rows, int32_t width) {
  result whole[max_rows * max_vectors * columns];
  int32_t vectors = (width + columns - 1) / columns, stride = vectors * columns;
  if (start.c) {
    copy_in(whole, stride, c, shape, rows, width);
    start.c = whole;
    start.stride = stride;
  }
  tile_of(lhs, rhs, depth, lots, start, whole, stride, rows, vectors);
  copy_out(c, shape, whole, stride, rows, width);
}

/* ------------------------------------------------------------------------------------------ */
/* One group's share                                                                            */

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
  return part * by.size + least(part, by.larger);
}
INLINE int32_t part_size(division by, int32_t part) {
  return least(by.size + (part < by.larger), by.whole - part_begin(by, part));
}

/* ... and one block of K of it. */
typedef struct share {
  const element *a;
  const rhs_element *b;
  const result *bias; /* NULL: none */
  result *c;
  matrix a_shape, c_shape;
  int32_t rows, width; /* of C */
  division tiles;      /* of the rows */
  int32_t values_of_k;
  int32_t first_word, depth;     /* of A */
  int32_t b_words, b_first_word; /* in B: of each vector, and that the block begins with */
  int adds;                      /* to what is in C */
  int in_place;                  /* A is not packed */
  lhs_element *packed;           /* the tiles from first_tile on */
  int32_t first_tile;
} share;

/* The microkernel reads A as it lies where rows follow each other without gaps, and the cache has
 * places for that many: at distances of 4 KiB, all would want the same few of L1. Blocks take any
 * distance, but have more rows that would want them. */
INLINE int can_be_in_place(const share *s, int32_t words, int32_t most) {
  enum { page = 4096, half_page = 2048 };
  matrix a = s->a_shape;
  if (!lhs_is_a || a.column_stride != 1 || words * values != s->values_of_k)
    return 0;
  if (has_blocks())
    return a.row_stride * (ptrdiff_t)sizeof(element) % half_page ||
           s->width <= tile_vectors() * columns;
  return words <= most && a.row_stride == s->values_of_k && words % tile_steps() == 0 &&
         words * 4 % page;
}

INLINE const lhs_element *share_lhs(const share *s, int32_t tile) {
  int32_t first = part_begin(s->tiles, tile);
  if (s->in_place)
    return (const void *)(s->a + first * s->a_shape.row_stride);
  int32_t rows = first - part_begin(s->tiles, s->first_tile);
  return s->packed + (ptrdiff_t)rows * s->depth * values;
}

INLINE void share_pack(const share *s, int32_t tile) {
  int32_t first = part_begin(s->tiles, tile);
  const element *a = s->a + first * s->a_shape.row_stride +
                     (ptrdiff_t)s->first_word * values * s->a_shape.column_stride;
  ptrdiff_t rows = first - part_begin(s->tiles, s->first_tile);
  pack_rows(s->packed + rows * s->depth * values, a, s->a_shape, part_size(s->tiles, tile),
            s->depth, s->values_of_k - s->first_word * values);
}

INLINE void share_tile(const share *s, int32_t tile, int32_t column) {
  int32_t width = least(tile_vectors() * columns, s->width - column);
  int32_t vectors = (width + columns - 1) / columns;
  ptrdiff_t vector =
      (ptrdiff_t)column / columns * s->b_words + (ptrdiff_t)s->b_first_word * vectors;
  const lhs_element *lhs = share_lhs(s, tile);
  const rhs_element *rhs = s->b + vector * columns * values;
  int32_t lots = s->in_place ? 0 : s->depth / steps;
  result *c =
      s->c + part_begin(s->tiles, tile) * s->c_shape.row_stride + column * s->c_shape.column_stride;
  origin start = {.bias = s->bias ? s->bias + column : 0};
  if (s->adds) {
    start.c = c;
    start.stride = s->c_shape.row_stride;
  }
  if (width == vectors * columns && s->c_shape.column_stride == 1)
    tile_of(lhs, rhs, s->depth, lots, start, c, s->c_shape.row_stride, part_size(s->tiles, tile),
            vectors);
  else
    edge_of(lhs, rhs, s->depth, lots, start, c, s->c_shape, part_size(s->tiles, tile), width);
}

#ifdef microkernel_block
/* Some tiles. Where the columns of C are apart, one by one by way of a whole tile. */
static __attribute__((noinline)) void block_of(const share *s, int32_t tile, int32_t end) {
  enum { height = kdl_mma_block_rows, panel = kdl_mma_block_vectors * columns };
  result whole[height * panel];
  int32_t first = part_begin(s->tiles, tile), lot = steps * values;
  int32_t rows = least(part_begin(s->tiles, end), s->rows) - first;
  const lhs_element *lhs = share_lhs(s, tile) + (s->in_place ? s->first_word * values : 0);
  ptrdiff_t row_distance = s->in_place ? s->a_shape.row_stride : lot;
  ptrdiff_t lot_distance = s->in_place ? lot : height * lot;
  ptrdiff_t last_lot_distance = s->in_place ? lot : rows % height * lot;
  ptrdiff_t tile_distance = height * (s->in_place ? row_distance : s->depth * values);
  result *c = s->c + first * s->c_shape.row_stride;
  int apart = s->c_shape.column_stride != 1;
  int32_t most_rows = apart ? height : rows, most_columns = apart ? panel : s->width;
  for (int32_t row = 0; row < rows; row += most_rows, lhs += tile_distance)
    for (int32_t column = 0; column < s->width; column += most_columns) {
      int32_t here = least(most_rows, rows - row), width = least(most_columns, s->width - column);
      result *to = c + row * s->c_shape.row_stride + column * s->c_shape.column_stride;
      if (apart && s->adds)
        copy_in(whole, panel, to, s->c_shape, here, width);
      microkernel_block((const element *)lhs, row_distance, lot_distance, last_lot_distance,
                        tile_distance, s->b + (ptrdiff_t)column * s->b_words * values, s->b_words,
                        s->b_first_word, apart ? whole : to, apart ? panel : s->c_shape.row_stride,
                        s->adds, here, width, s->depth / steps);
      if (apart)
        copy_out(to, s->c_shape, whole, panel, here, width);
    }
}
#else
static void block_of(const share *s, int32_t tile, int32_t end) {
  (void)s, (void)tile, (void)end;
}
#endif

/* As below, with all tiles at once where they are not packed one by one. */
static void share_run_blocks(const share *s, int32_t end, int b_is_small) {
  for (int32_t tile = s->first_tile; !s->in_place && tile < end; ++tile) {
    share_pack(s, tile);
    if (b_is_small)
      block_of(s, tile, tile + 1);
  }
  if (s->in_place || !b_is_small)
    block_of(s, s->first_tile, end);
}

/* While B is small, A's tiles are packed one by one, each just before it is used: the processor
 * packs while it still multiplies. Otherwise a panel of B is used for all of them in turn. */
static void share_run(const share *s, int32_t end) {
  enum { small = 1 << 18 };
  int32_t panel = tile_vectors() * columns;
  int b_is_small =
      (ptrdiff_t)s->width * s->depth * values * (ptrdiff_t)sizeof(rhs_element) <= small;
  if (has_blocks()) {
    share_run_blocks(s, end, b_is_small);
    return;
  }
  for (int32_t tile = s->first_tile; tile < end; ++tile) {
    if (!s->in_place)
      share_pack(s, tile);
    for (int32_t column = 0; b_is_small && column < s->width; column += panel)
      share_tile(s, tile, column);
  }
  for (int32_t column = 0; !b_is_small && column < s->width; column += panel)
    for (int32_t tile = s->first_tile; tile < end; ++tile)
      share_tile(s, tile, column);
}

/* A block of K, with as many rows at once as `size` bytes of packed ones hold. */
INLINE void share_block(share *s, size_t size) {
  size_t tile_size = (size_t)tile_rows() * (size_t)s->depth * values * sizeof(lhs_element);
  int all = !tile_size || (s->in_place && !has_blocks());
  s->tiles = divide(s->rows, tile_rows());
  int32_t at_once = all ? s->tiles.parts : (int32_t)(size / tile_size);
  for (s->first_tile = 0; s->first_tile < s->tiles.parts; s->first_tile += at_once)
    share_run(s, least(s->tiles.parts, s->first_tile + at_once));
}

INLINE int32_t portion(uint32_t whole, uint32_t part, uint32_t parts) {
  return (int32_t)((uint64_t)whole * part / parts);
}

typedef struct region {
  int32_t first_row, end_row, first_column, end_column;
} region;

/* What a group has of C: columns in whole panels. */
INLINE region region_of(const kdl_host_group *group, uint32_t m, uint32_t n) {
  int32_t panel = tile_vectors() * columns;
  uint32_t panels = (n + (uint32_t)panel - 1) / (uint32_t)panel;
  int32_t end = panel * portion(panels, group->group[0] + 1, group->group_count[0]);
  return (region){portion(m, group->group[1], group->group_count[1]),
                  portion(m, group->group[1] + 1, group->group_count[1]),
                  panel * portion(panels, group->group[0], group->group_count[0]),
                  least((int32_t)n, end)};
}

/* ------------------------------------------------------------------------------------------ */
/* Few columns                                                                                  */

/* How many columns, the last, are multiplied so: those that would fill little of a vector. Beside
 * others, the rows of A must be packed for both, so that it is worth its while for fewer only,
 * where K is long, and they would have a panel for themselves. In blocks, a vector that is used in
 * part takes less time than rows of A that are made vectors. */
INLINE int32_t narrow_of(uint32_t n, int32_t words) {
  enum { beside_others = 4, long_words = 64 };
  int32_t last = (int32_t)(n % columns), vectors = (int32_t)(n / columns);
  if (has_blocks())
    return 0;
  if (n <= narrow_columns)
    return (int32_t)n;
  return last <= beside_others && words >= long_words && vectors % tile_vectors() == 0 ? last : 0;
}
INLINE int is_last_column(const kdl_host_group *group) {
  return group->group[0] + 1 == group->group_count[0];
}

/* Columns of B, as rows; where the microkernel wants a bias, another row that gives it: what it
 * subtracts from, as a constant, is then multiplied with each row of A too. */
INLINE int32_t narrow_rows(int32_t n) {
  return n + has_bias;
}

static void narrow_pack(lhs_element *packed, const element *b, matrix shape, int32_t n, int32_t k,
                        int32_t words) {
  division tiles = divide(narrow_rows(n), tile_rows());
  for (int32_t tile = 0; tile < tiles.parts; ++tile) {
    int32_t first = part_begin(tiles, tile), rows = part_size(tiles, tile);
    lhs_element *to = packed + (ptrdiff_t)first * words * values;
    int32_t there = least(rows, n - first);
    matrix exchanged = {shape.column_stride, shape.row_stride};
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t at = 0; at < words * values; ++at) {
        element x = 0;
        if (row < there && at < k)
          x = b[(first + row) * exchanged.row_stride + at * exchanged.column_stride];
        to[place(rows, words, row, at / values) * values + at % values] = lhs_of(x);
      }
  }
}

/* Sums, a row for each column of C, to where they belong. */
static void narrow_out(result *c, matrix shape, result *sums, ptrdiff_t stride, int32_t rows,
                       int32_t n, int accumulate) {
  for (int32_t column = 0; column < n; ++column) {
    fragment *sum = (fragment *)(sums + column * stride), *bias = (fragment *)(sums + n * stride);
    for (ptrdiff_t at = 0; has_bias && at < stride / columns; ++at)
      sum[at] -= bias[at];
    const result *from = sums + column * stride;
    result *to = c + column * shape.column_stride;
    if (accumulate)
      for (int32_t row = 0; row < rows; ++row, to += shape.row_stride)
        *to += from[row];
    else
      for (int32_t row = 0; row < rows; ++row, to += shape.row_stride)
        *to = from[row];
  }
}

/* C' = B' A': the vectors hold rows of A, a panel of which is made at a time, of so much of K that
 * it stays in L1; the sums wait in memory meanwhile. */
static void narrow_run(const lhs_element *b, const element *a, matrix a_shape, result *c,
                       matrix c_shape, int32_t m, int32_t n, int32_t k, int32_t words,
                       int accumulate, rhs_element *panel) {
  enum { most = 128, most_columns = max_vectors * columns };
  result sums[(narrow_columns + 1) * most_columns];
  division tiles = divide(narrow_rows(n), tile_rows());
  matrix transposed = {a_shape.column_stride, a_shape.row_stride};
  int32_t wide = tile_vectors() * columns;
  for (int32_t row = 0; row < m; row += wide) {
    int32_t width = least(wide, m - row), vectors = (width + columns - 1) / columns;
    int32_t stride = vectors * columns;
    for (int32_t i = 0; i < narrow_rows(n) * stride; ++i)
      sums[i] = 0;
    for (int32_t word = 0; word < words; word += most) {
      int32_t depth = least(most, words - word);
      pack_vectors((panels){panel, depth, vectors, vectors}, 0,
                   a + row * a_shape.row_stride + word * values * a_shape.column_stride, transposed,
                   depth, k - word * values, width);
      for (int32_t tile = 0; tile < tiles.parts; ++tile) {
        int32_t first = part_begin(tiles, tile), rows = part_size(tiles, tile);
        result *part = sums + first * stride;
        const lhs_element *lhs = b + ((ptrdiff_t)first * words + (ptrdiff_t)word * rows) * values;
        tile_of(lhs, panel, depth, depth / steps, (origin){part, stride, 0}, part, stride, rows,
                vectors);
      }
    }
    narrow_out(c + row * c_shape.row_stride, c_shape, sums, stride, width, n, accumulate);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The kernels                                                                                  */

/* The parts of packed B. */
typedef struct parts {
  int32_t wide, narrow; /* columns */
  result *bias;
  rhs_element *rhs;
  lhs_element *lhs; /* of the narrow ones */
} parts;

INLINE parts parts_of(const void *packed, uint32_t n, int32_t words) {
  int32_t narrow = narrow_of(n, words), wide = (int32_t)n - narrow;
  ptrdiff_t padded = (wide + columns - 1) / columns * columns;
  result *bias = (result *)(uintptr_t)packed;
  rhs_element *rhs = (rhs_element *)(bias + (has_bias ? padded : 0));
  return (parts){wide, narrow, bias, rhs, (lhs_element *)(rhs + padded * words * values)};
}

/* With packed B. A launch may add group memory; A is packed in larger blocks then. */
KERNEL(matmul_name, (1, 1, 1), (1, 1, 1), (const element *, a), (int64_t, a_row_stride),
       (int64_t, a_column_stride), (const void *, b), (result *, c), (int64_t, c_row_stride),
       (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n), (uint32_t, k),
       (uint32_t, accumulate)) {
  int32_t words = words_of(k);
  parts in = parts_of(b, n, words);
  region of = region_of(kdl_group, m, (uint32_t)in.wide);
  matrix a_shape = {a_row_stride, a_column_stride}, c_shape = {c_row_stride, c_column_stride};
  a += of.first_row * a_row_stride;
  c += of.first_row * c_row_stride;
  if (in.narrow && is_last_column(kdl_group))
    narrow_run(in.lhs, a, a_shape, c + in.wide * c_column_stride, c_shape,
               of.end_row - of.first_row, in.narrow, (int32_t)k, words, accumulate != 0,
               kdl_group->shared);
  if (of.first_row == of.end_row || of.first_column >= of.end_column)
    return;
  share s = {.a = a,
             .b = in.rhs + (ptrdiff_t)of.first_column * words * values,
             .bias = has_bias ? in.bias + of.first_column : 0,
             .c = c + of.first_column * c_column_stride,
             .a_shape = a_shape,
             .c_shape = c_shape,
             .rows = of.end_row - of.first_row,
             .width = of.end_column - of.first_column,
             .values_of_k = (int32_t)k,
             .b_words = words,
             .adds = accumulate != 0,
             .packed = kdl_group->shared};
  s.in_place = can_be_in_place(&s, words, kdl_const_matmul_depth);
  do {
    s.depth = least(kdl_const_matmul_depth, words - s.first_word);
    s.b_first_word = s.first_word;
    share_block(&s, kdl_group->shared_size);
    s.first_word += s.depth;
    s.adds = 1;
    s.bias = 0;
  } while (s.first_word < words);
}

/* As much of K at a time as, packed, fits `size` bytes with all columns of a share. The sums are
 * put down each time. */
static void plain_run(share *s, const element *b, matrix shape, char *memory, size_t size) {
  int32_t words = words_of((uint32_t)s->values_of_k), vectors = (s->width + columns - 1) / columns;
  result *bias = (result *)memory;
  rhs_element *packed = (rhs_element *)(bias + (has_bias ? vectors * columns : 0));
  size_t step = (size_t)vectors * columns * values * sizeof(rhs_element);
  size_t left = size - (size_t)((char *)packed - memory);
  size_t row = (size_t)tile_rows() * values * sizeof(lhs_element);
  int32_t most = least((int32_t)(left / step), (int32_t)(size / row)) / steps * steps;
  s->in_place = can_be_in_place(s, words, most);
  s->b = packed;
  s->bias = has_bias ? bias : 0;
  s->first_word = 0;
  do {
    s->depth = s->b_words = least(most, words - s->first_word);
    pack_vectors((panels){packed, s->b_words, tile_vectors(), vectors}, bias,
                 b + (ptrdiff_t)s->first_word * values * shape.row_stride, shape, s->depth,
                 s->values_of_k - s->first_word * values, s->width);
    share_block(s, size);
    s->first_word += s->depth;
    s->adds = 1;
  } while (s->first_word < words);
}

/* With B as it lies, for few rows or a small B. Half of the group memory is for A, the other for B,
 * of which a part has 64 words of K at least. */
KERNEL(plain_name, (1, 1, 1), (1, 1, 1), (const element *, a), (int64_t, a_row_stride),
       (int64_t, a_column_stride), (const element *, b), (int64_t, b_row_stride),
       (int64_t, b_column_stride), (result *, c), (int64_t, c_row_stride),
       (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n), (uint32_t, k),
       (uint32_t, accumulate)) {
  enum { least_words = 64 };
  region of = region_of(kdl_group, m, n);
  size_t half = kdl_group->shared_size / 2 / 64 * 64;
  char *memory = (char *)kdl_group->shared + half;
  int32_t panel = tile_vectors() * columns;
  int32_t at_once = (int32_t)(half / ((least_words + has_bias) * 4)) / panel * panel;
  matrix b_shape = {b_row_stride, b_column_stride};
  if (of.first_row == of.end_row)
    return;
  for (int32_t column = of.first_column; column < of.end_column; column += at_once) {
    share s = {.a = a + of.first_row * a_row_stride,
               .c = c + of.first_row * c_row_stride + column * c_column_stride,
               .a_shape = {a_row_stride, a_column_stride},
               .c_shape = {c_row_stride, c_column_stride},
               .rows = of.end_row - of.first_row,
               .width = least(at_once, of.end_column - column),
               .values_of_k = (int32_t)k,
               .adds = accumulate != 0,
               .packed = kdl_group->shared};
    plain_run(&s, b + column * b_column_stride, b_shape, memory, half);
  }
}

/* B as the microkernel takes it, from rows of N or, with the strides exchanged, from rows of K. */
KERNEL(pack_name, (1, 1, 1), (1, 1, 1), (const element *, b), (int64_t, row_stride),
       (int64_t, column_stride), (void *, packed), (uint32_t, n), (uint32_t, k)) {
  int32_t words = words_of(k);
  matrix shape = {row_stride, column_stride};
  parts in = parts_of(packed, n, words);
  region of = region_of(kdl_group, 1, (uint32_t)in.wide);
  if (in.narrow && is_last_column(kdl_group))
    narrow_pack(in.lhs, b + in.wide * column_stride, shape, in.narrow, (int32_t)k, words);
  int32_t width = of.end_column - of.first_column;
  panels to = {in.rhs + (ptrdiff_t)of.first_column * words * values, words, tile_vectors(),
               (width + columns - 1) / columns};
  pack_vectors(to, in.bias + of.first_column, b + of.first_column * column_stride, shape, words,
               (int32_t)k, width);
}
