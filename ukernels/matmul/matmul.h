/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data-tiled matrix multiplication C = A B or C += A B, as kernels for the CPU that call a
 * microkernel for each tile of C. A file per type defines what follows and includes this one.
 *
 *     element, lhs_element, rhs_element, result      in the matrices; in packed A and B; in C
 *     values                                         of K in a word
 *     microkernel, microkernel_tile                  <kdl/mma.h>
 *     pack_name, matmul_name                         of the kernels
 *     lhs_of(element), has_bias
 *
 * Packed B, slowest first: [panels of the tile's vectors][blocks of K][the microkernel's rhs];
 * before it, where has_bias, a result for each column, from which sums start. A is packed by each
 * group for itself, a block at a time, into its group memory.
 *
 *     for each block of K, of at most `depth` words
 *       for each block of rows of A that fits the group memory: pack it
 *         for each panel of B                        (from L3, then from L1 and L2)
 *           for each tile of rows                    (from L2)
 *             the microkernel                        (in registers)
 *
 * A launch's groups divide C among them: group_count[1] times its rows, group_count[0] times its
 * columns, whatever the numbers are.
 */
#include <kdl/mma.h>

/* Group memory for one tile at the full depth. */
#define KDL_KERNEL_SHARED (1 << 18)
#include <kdl/kernel.h>
#include <stddef.h>

/* The names are macros, to be replaced before they are pasted. */
#define KERNEL(...) KDL_KERNEL(__VA_ARGS__)
#define INLINE static inline __attribute__((always_inline))

/* Words of K in a block: so many that the sums are seldom put down, so few that a panel of B stays
 * in L2 with the block of A. */
KDL_CONSTANT(int32_t, matmul_depth, 2048);

typedef result fragment __attribute__((ext_vector_type(16), aligned(4)));
typedef uint32_t line __attribute__((ext_vector_type(16), aligned(1)));
typedef uint32_t line_part __attribute__((aligned(1)));

enum { max_rows = 32, max_vectors = 2, columns = kdl_mma_columns, steps = kdl_mma_steps };

typedef struct matrix {
  ptrdiff_t row_stride, column_stride;
} matrix;

INLINE int32_t tile_rows(void) {
  return (int32_t)(microkernel_tile() & 0xff);
}
INLINE int32_t tile_vectors(void) {
  return (int32_t)(microkernel_tile() >> 8 & 0xff);
}
INLINE int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* Words of K: in whole lots of 16 where the microkernel takes nothing else. */
INLINE int32_t words_of(uint32_t k) {
  int32_t words = (int32_t)((k + values - 1) / values);
  return microkernel_tile() >> 16 ? (words + steps - 1) / steps * steps : words;
}

/* Where in packed rows of `depth` words a word lies. */
INLINE ptrdiff_t place(int32_t rows, int32_t depth, int32_t row, int32_t word) {
  int32_t whole = depth / steps * steps;
  if (word < whole)
    return ((ptrdiff_t)(word / steps) * rows + row) * steps + word % steps;
  return (ptrdiff_t)word * rows + row;
}

/* The words of A that are there whole, where their values lie together; returns how many. Lots of
 * 16 are moved as they are. */
INLINE int32_t pack_dense(lhs_element *restrict packed, const element *a, ptrdiff_t row_stride,
                          int32_t rows, int32_t depth, int32_t words) {
  int32_t word = 0;
  for (; word + steps <= words; word += steps)
    for (int32_t row = 0; row < rows; ++row) {
      const line *from = (const line *)(a + row * row_stride + word * values);
      *(line *)(packed + ((ptrdiff_t)word * rows + row * steps) * values) = lhs_line(*from);
    }
  for (; word < words; ++word)
    _Pragma("clang loop vectorize(disable)") for (int32_t row = 0; row < rows; ++row) {
      const line_part *from = (const line_part *)(a + row * row_stride + word * values);
      *(line_part *)(packed + place(rows, depth, row, word) * values) = lhs_line(*from);
    }
  return words;
}

/* Rows of A as the microkernel's lhs; of K, `available` are left, and the rest is zero. */
static void pack_rows(lhs_element *restrict packed, const element *a, matrix shape, int32_t rows,
                      int32_t depth, int32_t available) {
  int32_t word = 0;
  if (shape.column_stride == 1 && sizeof(lhs_element) == sizeof(element))
    word = pack_dense(packed, a, shape.row_stride, rows, depth, least(depth, available / values));
  for (; word < depth; ++word)
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t value = 0; value < values; ++value) {
        int32_t at = word * values + value;
        element x = at < available ? a[row * shape.row_stride + at * shape.column_stride] : 0;
        packed[place(rows, depth, row, word) * values + value] = lhs_of(x);
      }
}

/* What the sums of a tile start from: the bias or zero, and C where it is added to. */
typedef struct origin {
  const result *c; /* NULL: not added to */
  ptrdiff_t stride;
  const result *bias; /* NULL: zero */
} origin;

/* A tile of C that is whole. The sums are named by constants alone once this is inlined, and stay
 * in registers from here to there. */
INLINE void tile(const lhs_element *lhs, const rhs_element *rhs, origin start, result *c,
                 ptrdiff_t stride, int32_t depth, int32_t rows, int32_t vectors) {
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
  int32_t whole = depth / steps * steps;
  microkernel(lhs, 0, rhs, 0, (result *)sums, 0, whole / steps, rows, vectors, steps);
  if (!(microkernel_tile() >> 16))
    microkernel(lhs, (ptrdiff_t)whole * rows * values, rhs,
                (ptrdiff_t)whole * vectors * columns * values, (result *)sums, 0, depth - whole,
                rows, vectors, 1);
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t vector = 0; vector < vectors; ++vector)
      ((fragment *)(c + row * stride))[vector] = sums[row * vectors + vector];
}

/* A tile of each height is code of its own, in which the microkernel's arrays are registers. */
static __attribute__((noinline)) void tile_of(const lhs_element *lhs, const rhs_element *rhs,
                                              origin start, result *c, ptrdiff_t stride,
                                              int32_t depth, int32_t rows, int32_t vectors) {
#define HEIGHT(height)                                                                             \
  case height:                                                                                     \
    if (height > tile_rows())                                                                      \
      break;                                                                                       \
    if (tile_vectors() > 1 && vectors > 1)                                                         \
      tile(lhs, rhs, start, c, stride, depth, height, 2);                                          \
    else                                                                                           \
      tile(lhs, rhs, start, c, stride, depth, height, 1);                                          \
    break;
#define HEIGHTS(base)                                                                              \
  HEIGHT(base + 1)                                                                                 \
  HEIGHT(base + 2)                                                                                 \
  HEIGHT(base + 3)                                                                                 \
  HEIGHT(base + 4) HEIGHT(base + 5) HEIGHT(base + 6) HEIGHT(base + 7) HEIGHT(base + 8)
  switch (rows) { HEIGHTS(0) HEIGHTS(8) HEIGHTS(16) HEIGHTS(24) }
}

/* At the edge of C, or where its columns are apart: by way of a whole tile. */
static __attribute__((noinline)) void edge_of(const lhs_element *lhs, const rhs_element *rhs,
                                              origin start, result *c, matrix shape, int32_t depth,
                                              int32_t rows, int32_t width) {
  result whole[max_rows * max_vectors * columns];
  int32_t vectors = (width + columns - 1) / columns, stride = vectors * columns;
  if (start.c) {
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t column = 0; column < stride; ++column)
        whole[row * stride + column] =
            column < width ? c[row * shape.row_stride + column * shape.column_stride] : 0;
    start.c = whole;
    start.stride = stride;
  }
  tile_of(lhs, rhs, start, whole, stride, depth, rows, vectors);
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t column = 0; column < width; ++column)
      c[row * shape.row_stride + column * shape.column_stride] = whole[row * stride + column];
}

/* Rows are divided evenly into tiles: 64 are 5 tiles of 12 or 13, not 4 of 14 and one of 8. */
typedef struct division {
  int32_t parts, size, larger; /* the first `larger` parts have one more */
} division;

INLINE division divide(int32_t whole, int32_t largest) {
  int32_t parts = (whole + largest - 1) / largest;
  return (division){parts, parts ? whole / parts : 0, parts ? whole % parts : 0};
}
INLINE int32_t part_begin(division by, int32_t part) {
  return part * by.size + least(part, by.larger);
}

/* One group's share, and one block of K of it. */
typedef struct share {
  const element *a;
  const rhs_element *b;
  const result *bias; /* NULL: none */
  result *c;
  matrix a_shape, c_shape;
  division tiles; /* of the rows */
  int32_t width;  /* columns */
  int32_t values_of_k, words, first_word, depth;
  int accumulate;
  lhs_element *packed; /* the tiles from first_tile on */
  int32_t first_tile;
} share;

INLINE int32_t share_rows(const share *s, int32_t tile) {
  return s->tiles.size + (tile < s->tiles.larger);
}
INLINE lhs_element *share_lhs(const share *s, int32_t tile) {
  int32_t rows = part_begin(s->tiles, tile) - part_begin(s->tiles, s->first_tile);
  return s->packed + (ptrdiff_t)rows * s->depth * values;
}

INLINE void share_pack(const share *s, int32_t tile) {
  const element *a = s->a + part_begin(s->tiles, tile) * s->a_shape.row_stride +
                     (ptrdiff_t)s->first_word * values * s->a_shape.column_stride;
  pack_rows(share_lhs(s, tile), a, s->a_shape, share_rows(s, tile), s->depth,
            s->values_of_k - s->first_word * values);
}

INLINE void share_tile(const share *s, int32_t tile, int32_t column) {
  int32_t width = least(tile_vectors() * columns, s->width - column);
  int32_t vectors = (width + columns - 1) / columns;
  ptrdiff_t vector = (ptrdiff_t)column / columns * s->words + (ptrdiff_t)s->first_word * vectors;
  result *c =
      s->c + part_begin(s->tiles, tile) * s->c_shape.row_stride + column * s->c_shape.column_stride;
  const rhs_element *rhs = s->b + vector * columns * values;
  origin start = {.bias = s->bias && !s->first_word ? s->bias + column : 0};
  if (s->accumulate || s->first_word) {
    start.c = c;
    start.stride = s->c_shape.row_stride;
  }
  if (width == vectors * columns && s->c_shape.column_stride == 1)
    tile_of(share_lhs(s, tile), rhs, start, c, s->c_shape.row_stride, s->depth, share_rows(s, tile),
            vectors);
  else
    edge_of(share_lhs(s, tile), rhs, start, c, s->c_shape, s->depth, share_rows(s, tile), width);
}

/* While B is small, A's tiles are packed one by one, each just before it is used: the processor
 * packs while it still multiplies. Otherwise a panel of B is used for all of them in turn. */
static void share_run(const share *s, int32_t end) {
  enum { small = 1 << 18 };
  int32_t panel = tile_vectors() * columns;
  int b_is_small =
      (ptrdiff_t)s->width * s->depth * values * (ptrdiff_t)sizeof(rhs_element) <= small;
  for (int32_t tile = s->first_tile; tile < end; ++tile) {
    share_pack(s, tile);
    for (int32_t column = 0; b_is_small && column < s->width; column += panel)
      share_tile(s, tile, column);
  }
  for (int32_t column = 0; !b_is_small && column < s->width; column += panel)
    for (int32_t tile = s->first_tile; tile < end; ++tile)
      share_tile(s, tile, column);
}

INLINE int32_t portion(uint32_t whole, uint32_t part, uint32_t parts) {
  return (int32_t)((uint64_t)whole * part / parts);
}

/* A launch may add group memory; A is packed in larger blocks then. */
KERNEL(matmul_name, (1, 1, 1), (1, 1, 1), (const element *, a), (int64_t, a_row_stride),
       (int64_t, a_column_stride), (const void *, b), (result *, c), (int64_t, c_row_stride),
       (int64_t, c_column_stride), (uint32_t, m), (uint32_t, n), (uint32_t, k),
       (uint32_t, accumulate)) {
  int32_t panel = tile_vectors() * columns;
  uint32_t panels = (n + (uint32_t)panel - 1) / (uint32_t)panel;
  int32_t first_row = portion(m, kdl_group->group[1], kdl_group->group_count[1]);
  int32_t end_row = portion(m, kdl_group->group[1] + 1, kdl_group->group_count[1]);
  int32_t first = panel * portion(panels, kdl_group->group[0], kdl_group->group_count[0]);
  int32_t end = least((int32_t)n,
                      panel * portion(panels, kdl_group->group[0] + 1, kdl_group->group_count[0]));
  ptrdiff_t padded = (ptrdiff_t)(n + columns - 1) / columns * columns;
  int32_t words = words_of(k);
  const result *bias = has_bias ? b : 0;
  share s = {.a = a + first_row * a_row_stride,
             .b = (const rhs_element *)((const result *)b + (has_bias ? padded : 0)) +
                  (ptrdiff_t)first * words * values,
             .bias = bias ? bias + first : 0,
             .c = c + first_row * c_row_stride + first * c_column_stride,
             .a_shape = {a_row_stride, a_column_stride},
             .c_shape = {c_row_stride, c_column_stride},
             .tiles = divide(end_row - first_row, tile_rows()),
             .width = end - first,
             .values_of_k = (int32_t)k,
             .words = words,
             .accumulate = accumulate != 0,
             .packed = kdl_group->shared};
  do {
    s.depth = least(kdl_const_matmul_depth, words - s.first_word);
    size_t tile_size = (size_t)tile_rows() * (size_t)s.depth * values * sizeof(lhs_element);
    int32_t at_once = (int32_t)(kdl_group->shared_size / (tile_size ? tile_size : 1));
    for (s.first_tile = 0; s.first_tile < s.tiles.parts; s.first_tile += at_once)
      share_run(&s, least(s.tiles.parts, s.first_tile + at_once));
    s.first_word += s.depth;
  } while (s.first_word < words);
}

/* A vector of B, all of which is there, from rows of N. */
INLINE void pack_whole_vector(rhs_element *restrict to, const element *restrict from,
                              int64_t row_stride, result *restrict sums) {
  for (int32_t column = 0; column < columns; ++column)
    for (int32_t value = 0; value < values; ++value) {
      rhs_element x = from[value * row_stride + column];
      to[column * values + value] = x;
      if (has_bias)
        sums[column] += (result)x;
    }
}

/* A vector of which some may be beyond the matrix. */
static void pack_vector(rhs_element *to, const element *from, int64_t row_stride,
                        int64_t column_stride, int32_t rows, int32_t width, result *sums) {
  for (int32_t column = 0; column < columns; ++column)
    for (int32_t value = 0; value < values; ++value) {
      rhs_element x = 0;
      if (value < rows && column < width)
        x = from[value * row_stride + column * column_stride];
      to[column * values + value] = x;
      sums[column] += has_bias ? (result)x : 0;
    }
}

/* B as the microkernel takes it, from rows of N or, with the strides exchanged, from rows of K. */
KERNEL(pack_name, (1, 1, 1), (1, 1, 1), (const element *, b), (int64_t, row_stride),
       (int64_t, column_stride), (void *, packed), (uint32_t, n), (uint32_t, k)) {
  int32_t words = words_of(k), vectors = (int32_t)((n + columns - 1) / columns);
  result *bias = packed;
  rhs_element *rhs = (rhs_element *)(bias + (has_bias ? vectors * columns : 0));
  int32_t begin = portion((uint32_t)vectors, kdl_group->group[0], kdl_group->group_count[0]);
  int32_t end = portion((uint32_t)vectors, kdl_group->group[0] + 1, kdl_group->group_count[0]);
  for (int32_t vector = begin; vector < end; ++vector) {
    int32_t in_panel = vector % tile_vectors(), panel = vector - in_panel;
    int32_t width = least(tile_vectors(), vectors - panel);
    result sums[columns] = {0};
    for (int32_t first = 0; first < words; first += kdl_const_matmul_depth) {
      int32_t depth = least(kdl_const_matmul_depth, words - first);
      rhs_element *block =
          rhs + ((ptrdiff_t)panel * words + (ptrdiff_t)first * width) * columns * values;
      for (int32_t word = 0; word < depth; ++word) {
        rhs_element *to = block + ((ptrdiff_t)word * width + in_panel) * columns * values;
        int32_t row = (first + word) * values, at = vector * columns;
        const element *from = b + row * row_stride + at * column_stride;
        if (column_stride == 1 && row + values <= (int32_t)k && at + columns <= (int32_t)n)
          pack_whole_vector(to, from, row_stride, sums);
        else
          pack_vector(to, from, row_stride, column_stride, (int32_t)k - row, (int32_t)n - at, sums);
      }
    }
    for (int32_t column = 0; has_bias && column < columns; ++column)
      bias[vector * columns + column] = bias_of(sums[column]);
  }
}
