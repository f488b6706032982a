/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How matrices come into the layout of <kdl/mma.h>. matmul.h includes this; which explains the
 * types.
 */
#include <kdl/mma.h>
#include <stddef.h>

/* Inlined, so that the microkernel's constants reach everything. Sanitized tests define it
 * otherwise: with its checks, inlined code takes minutes to compile. */
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#endif

/* Of functions that move whole vectors: with registers as wide, also where a compiler that knows
 * the instruction set alone would rather use halves. */
#if defined(__x86_64__)
#define WIDE __attribute__((min_vector_width(512)))
#else
#define WIDE
#endif

enum { columns = kdl_mma_columns, steps = kdl_mma_steps };

typedef struct matrix {
  ptrdiff_t row_stride, column_stride;
} matrix;

typedef uint32_t line __attribute__((ext_vector_type(16)));
typedef line unaligned_line __attribute__((aligned(1)));
typedef element_part element_line __attribute__((ext_vector_type(16), aligned(1)));
typedef rhs_word word_line __attribute__((ext_vector_type(16)));
typedef word_line unaligned_word_line __attribute__((aligned(1)));
typedef element_part unaligned_part __attribute__((aligned(1)));
typedef uint32_t unaligned_word __attribute__((aligned(1)));
typedef _Bool lanes __attribute__((ext_vector_type(16)));

INLINE lanes first_lanes(int32_t count) {
  line index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return __builtin_convertvector(index < (uint32_t)count, lanes);
}

/* The same of the values of 16 words. */
typedef _Bool value_lanes __attribute__((ext_vector_type(16 * values)));
typedef element value_line __attribute__((ext_vector_type(16 * values)));
INLINE value_lanes first_values(int32_t count) {
  uint64_t bits = count < 64 ? (UINT64_C(1) << count) - 1 : ~UINT64_C(0);
  value_lanes lanes_of_bits;
  __builtin_memcpy(&lanes_of_bits, &bits, sizeof lanes_of_bits);
  return lanes_of_bits;
}

INLINE int32_t min_i32(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* ------------------------------------------------------------------------------------------ */
/* The left operand                                                                             */

/* Where a word lies in packed rows of `depth` words: in step blocks of 16, then the others. */
INLINE ptrdiff_t packed_offset(int32_t rows, int32_t depth, int32_t row, int32_t word) {
  int32_t whole = depth / steps * steps;
  if (word < whole)
    return ((ptrdiff_t)(word / steps) * rows + row) * steps + word % steps;
  return (ptrdiff_t)whole * rows + (ptrdiff_t)row * (depth - whole) + word - whole;
}

/* Where packed rows go: in a tile of `rows`, of which the first `above` are left alone. */
typedef struct lhs_tile {
  lhs_element *packed;
  int32_t rows, above, depth;
} lhs_tile;

/* A row of zeros, the first. */
INLINE void pack_zeros(lhs_tile to) {
  for (int32_t word = 0; word < to.depth; ++word)
    for (int32_t value = 0; value < values; ++value)
      to.packed[packed_offset(to.rows, to.depth, 0, word) * values + value] = lhs_of((element)0);
}

/* 16 words of each row, where the values of a row lie together. */
INLINE void pack_dense_step_block(lhs_tile to, const element *a, ptrdiff_t row_stride,
                                  int32_t word) {
  lhs_element *packed = to.packed + ((ptrdiff_t)word * to.rows + to.above * steps) * values;
  const element *from = a + word * values;
  for (int32_t row = to.above; row < to.rows; ++row) {
    *(unaligned_line *)packed = lhs_line(*(const element_line *)from);
    packed += steps * values;
    from += row_stride;
  }
}

/* The last words of each row, `there` values of which are; and zeros. */
INLINE void pack_dense_tail(lhs_tile to, const element *a, ptrdiff_t row_stride, int32_t word,
                            int32_t there) {
  lanes left = first_lanes(to.depth - word), whole = first_lanes(there / values);
  value_lanes some = first_values(there);
  for (int32_t row = to.above; row < to.rows; ++row) {
    const element *from = a + (row - to.above) * row_stride + word * values;
    lhs_element *packed = to.packed + packed_offset(to.rows, to.depth, row, word) * values;
    element_line line;
    if (there % values == 0)
      line = __builtin_masked_load(whole, (const unaligned_part *)from, (element_line)0);
    else
      line = (element_line)__builtin_masked_load(some, from, (value_line)0);
    __builtin_masked_store(left, lhs_line(line), (unaligned_word *)packed);
  }
}

/* Rows by steps, where a word is one value: the words of a step lie together. */
static void pack_steps(lhs_element *restrict packed, const element *a, matrix shape, int32_t rows,
                       int32_t depth) {
  for (int32_t step = 0; step < depth; ++step)
    for (int32_t row = 0; row < rows; ++row)
      packed[step * rows + row] = lhs_of(a[row * shape.row_stride + step * shape.column_stride]);
}

/* Rows as the microkernel's lhs; of K, `available` are left, and the rest is zero. */
static WIDE void pack_rows(lhs_tile to, const element *a, matrix shape, int32_t available) {
  int32_t word = 0;
  if (shape.column_stride == 1) {
    for (; word + steps <= min_i32(to.depth, available / values); word += steps)
      pack_dense_step_block(to, a, shape.row_stride, word);
    for (; word < to.depth; word += steps)
      pack_dense_tail(to, a, shape.row_stride, word,
                      min_i32(available - word * values, steps * values));
    return;
  }
  for (; word < to.depth; ++word) {
    const element *from = a + word * values * shape.column_stride;
    int32_t there = available - word * values;
    for (int32_t row = to.above; row < to.rows; ++row, from += shape.row_stride) {
      lhs_element *packed = to.packed + packed_offset(to.rows, to.depth, row, word) * values;
      for (int32_t value = 0; value < values; ++value)
        packed[value] = lhs_of(value < there ? from[value * shape.column_stride] : 0);
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The right operand                                                                            */

/* Sixteen lines become columns: four times, the first half of them is interleaved with the
 * second. */
INLINE void interleave_halves(word_line *cards) {
  word_line dealt[columns];
  for (int32_t turn = 0; turn < 4; ++turn) {
    for (int32_t i = 0; i < columns / 2; ++i) {
      word_line a = cards[i], b = cards[i + columns / 2];
      dealt[2 * i] =
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      dealt[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                 14, 30, 15, 31);
    }
    for (int32_t i = 0; i < columns; ++i)
      cards[i] = dealt[i];
  }
}

/* Words of columns, where those of a column lie together: 16 of 16. */
INLINE void transpose(rhs_element *restrict to, ptrdiff_t distance, const element *from,
                      ptrdiff_t column_stride) {
  word_line cards[columns];
  for (int32_t i = 0; i < columns; ++i)
    cards[i] = *(const unaligned_word_line *)(from + i * column_stride);
  interleave_halves(cards);
  for (int32_t i = 0; i < columns; ++i)
    *(unaligned_word_line *)(to + i * distance) = cards[i];
}

/* ... and fewer; there are zeros in place of other columns. */
static WIDE void transpose_part(rhs_element *restrict to, ptrdiff_t distance, const element *from,
                                ptrdiff_t column_stride, int32_t words, int32_t width) {
  typedef rhs_word unaligned_rhs_word __attribute__((aligned(1)));
  word_line cards[columns];
  /* Lanes that are masked may lie beyond the memory that there is, but that would take long. */
  for (int32_t i = 0; i < columns; ++i)
    cards[i] = __builtin_masked_load(
        first_lanes(i < width ? words : 0),
        (const unaligned_rhs_word *)(from + (i < width ? i * column_stride : 0)), (word_line)0);
  interleave_halves(cards);
  for (int32_t i = 0; i < columns; ++i)
    if (i < words)
      *(unaligned_word_line *)(to + i * distance) = cards[i];
}

typedef element element_row __attribute__((ext_vector_type(16)));
typedef element_row unaligned_row __attribute__((aligned(1)));
typedef rhs_element element_pairs __attribute__((ext_vector_type(32), aligned(1)));
typedef rhs_element element_quads __attribute__((ext_vector_type(64), aligned(1)));

/* Rows of K side by side become words: 2 or 4 values of each column. */
INLINE element_pairs pairs_of(element_row a, element_row b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8,
                                 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
/* Four rows of four words become the words of four columns, as matrices of words and then of bytes:
 * two instructions where there are none that exchange bytes at will. */
INLINE element_quads quads_of(element_row a, element_row b, element_row c, element_row d) {
  element_pairs ab =
      __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  element_pairs cd =
      __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  element_quads rows = __builtin_shufflevector(
      ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
      24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46,
      47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63);
  rows = __builtin_shufflevector(rows, rows, 0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50,
                                 51, 4, 5, 6, 7, 20, 21, 22, 23, 36, 37, 38, 39, 52, 53, 54, 55, 8,
                                 9, 10, 11, 24, 25, 26, 27, 40, 41, 42, 43, 56, 57, 58, 59, 12, 13,
                                 14, 15, 28, 29, 30, 31, 44, 45, 46, 47, 60, 61, 62, 63);
  return __builtin_shufflevector(rows, rows, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
                                 16, 20, 24, 28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31, 32,
                                 36, 40, 44, 33, 37, 41, 45, 34, 38, 42, 46, 35, 39, 43, 47, 48, 52,
                                 56, 60, 49, 53, 57, 61, 50, 54, 58, 62, 51, 55, 59, 63);
}

INLINE void store_packed_vector(rhs_element *restrict to, const element_row rows[4]) {
  if (values == 1)
    *(unaligned_row *)to = rows[0];
  else if (values == 2)
    *(element_pairs *)to = pairs_of(rows[0], rows[1]);
  else
    *(element_quads *)to = quads_of(rows[0], rows[1], rows[2], rows[3]);
}

/* One vector of which all is there, from rows of N. */
INLINE void pack_whole_vector(rhs_element *restrict to, const element *restrict from,
                              ptrdiff_t stride) {
  element_row rows[4];
  for (int32_t value = 0; value < values; ++value)
    rows[value] = *(const unaligned_row *)(from + value * stride);
  store_packed_vector(to, rows);
}

/* What comes next of a row, into the cache. Rows of f32 that are a multiple of 4 KiB apart have the
 * same few places in L1, and would replace each other there before they are read: into L2. */
INLINE void fetch_row(const element *row, int32_t vectors) {
  enum { line = 64 / sizeof(element) };
  for (int32_t column = 0; column < vectors * columns; column += line)
    __builtin_prefetch(row + column, 0, values == 1 ? 2 : 3);
}

/* 16 words of vectors side by side, all of them there, from rows of N. */
INLINE void pack_step_block(rhs_element *restrict to, const element *restrict from,
                            ptrdiff_t stride, ptrdiff_t ahead, int32_t vectors) {
  for (int32_t step = 0; step < steps; ++step) {
    const element *row = from + step * values * stride;
    for (int32_t value = 0; value < values; ++value)
      fetch_row(row + value * stride + ahead, vectors);
    for (int32_t vector = 0; vector < vectors; ++vector)
      pack_whole_vector(to + (step * vectors + vector) * columns * values, row + vector * columns,
                        stride);
  }
}

/* One of which some may be beyond the matrix. */
INLINE void pack_vector(rhs_element *to, const element *from, matrix shape, int32_t rows,
                        int32_t width) {
  if (shape.column_stride == 1) {
    element_row there[4];
    for (int32_t value = 0; value < values; ++value)
      there[value] = __builtin_masked_load(first_lanes(value < rows ? width : 0),
                                           from + (value < rows ? value * shape.row_stride : 0),
                                           (element_row)0);
    store_packed_vector(to, there);
    return;
  }
  for (int32_t i = 0; i < columns * values; ++i)
    to[i] = 0;
  for (int32_t value = 0; value < min_i32(values, rows); ++value)
    for (int32_t column = 0; column < min_i32(columns, width); ++column)
      to[column * values + value] = from[value * shape.row_stride + column * shape.column_stride];
}

/* Up to 16 words of some vectors side by side that are in a panel each with `distance` between
 * words; of the matrix, `rows` of K and `width` columns are left. */
typedef struct pack_source {
  rhs_element *to;
  ptrdiff_t distance;
  const element *from;
  int32_t words, rows, width;
} pack_source;

static WIDE void pack_cell(pack_source at, matrix shape) {
  int32_t word = 0, whole = min_i32(at.words, at.rows / values);
  if (shape.row_stride == 1 && whole == steps && at.width >= columns) {
    transpose(at.to, at.distance, at.from, shape.column_stride);
    word = steps;
  } else if (shape.row_stride == 1 && whole > 0) {
    transpose_part(at.to, at.distance, at.from, shape.column_stride, whole, at.width);
    word = whole;
  }
  for (; word < at.words; ++word)
    pack_vector(at.to + word * at.distance, at.from + word * values * shape.row_stride, shape,
                at.rows - word * values, at.width);
}

/* What has been packed, added up by columns: bytes, the only type that has a bias. */
INLINE void add_columns(result *sums, const rhs_element *packed, ptrdiff_t distance,
                        int32_t words) {
  typedef int32_t bytes __attribute__((ext_vector_type(16)));
  typedef bytes unaligned_bytes __attribute__((aligned(1)));
  bytes sum = {0};
  for (int32_t word = 0; word < words; ++word) {
    bytes here = *(const unaligned_bytes *)(packed + word * distance);
    for (int32_t value = 0; value < 4; ++value)
      sum += here << (24 - 8 * value) >> 24;
  }
  for (int32_t column = 0; column < columns; ++column)
    sums[column] += (result)sum[column];
}

/* Where vectors go: in panels of 1 or 2 side by side, each of `words` words. */
typedef struct panels {
  rhs_element *packed;
  ptrdiff_t words;
  int32_t panel, vectors;
} panels;

INLINE ptrdiff_t panel_stride(const panels *in, int32_t vector) {
  int alone = in->panel == 1 || (vector | 1) >= in->vectors;
  return (alone ? 1 : 2) * columns * values;
}
INLINE rhs_element *panel_address(const panels *in, int32_t vector, int32_t word) {
  int32_t in_panel = vector & (in->panel - 1);
  return in->packed + (vector - in_panel) * in->words * columns * values +
         word * panel_stride(in, vector) + in_panel * columns * values;
}

/* Words of vectors from rows of N, all of them there. A line of the matrix holds a row of several
 * vectors, which are packed together: at some strides the cache has places for few lines. */
static WIDE void pack_across(const panels *in, const element *b, ptrdiff_t row_stride,
                             int32_t first, int32_t words, int32_t vectors) {
  enum { together = 64 / (columns * sizeof(element)), ahead = 128 / sizeof(element) };
  for (int32_t vector = 0; vector < vectors; vector += together) {
    rhs_element *to[together];
    ptrdiff_t distance[together];
    int32_t here = min_i32(together, vectors - vector);
    for (int32_t i = 0; i < here; ++i) {
      to[i] = panel_address(in, vector + i, first);
      distance[i] = panel_stride(in, vector + i);
    }
    for (int32_t word = 0; word < words; ++word) {
      const element *from = b + word * values * row_stride + vector * columns;
      for (int32_t value = 0; value < values; ++value)
        __builtin_prefetch(from + value * row_stride + ahead);
      for (int32_t i = 0; i < here; ++i)
        pack_whole_vector(to[i] + word * distance[i], from + i * columns, row_stride);
    }
  }
}

/* Vectors of a matrix with `rows` of K and `width` columns, `depth` words of each; and the bias,
 * unless that is NULL. Sixteen words are taken along all columns: where those lie together, memory
 * is read in sequence. */
static WIDE void pack_vectors(panels in, result *bias, const element *b, matrix shape,
                              int32_t depth, int32_t rows, int32_t width) {
  for (int32_t i = 0; has_bias && bias && i < in.vectors * columns; ++i)
    bias[i] = 0;
  for (int32_t word = 0; word < depth; word += steps) {
    const element *from = b + word * values * shape.row_stride;
    int32_t here = min_i32(steps, depth - word), left = rows - word * values, vector = 0;
    if (shape.column_stride == 1 && left >= here * values) {
      vector = width / columns;
      pack_across(&in, from, shape.row_stride, word, here, vector);
    }
    for (; vector < in.vectors; ++vector)
      pack_cell((pack_source){panel_address(&in, vector, word), panel_stride(&in, vector),
                              from + vector * columns * shape.column_stride, here, left,
                              width - vector * columns},
                shape);
    for (vector = 0; has_bias && bias && vector < in.vectors; ++vector)
      add_columns(bias + vector * columns, panel_address(&in, vector, word),
                  panel_stride(&in, vector), here);
  }
  for (int32_t i = 0; has_bias && bias && i < in.vectors * columns; ++i)
    bias[i] = bias_of(bias[i]);
}
