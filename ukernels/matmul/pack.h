/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How matrices come into the layout of <kdl/mma.h>. matmul.h includes this; what the types are is
 * told there.
 */
#include <kdl/mma.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

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

INLINE int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* ------------------------------------------------------------------------------------------ */
/* The left operand                                                                             */

/* Where a word lies in packed rows of `depth` words: in lots of 16, then what is left. */
INLINE ptrdiff_t place(int32_t rows, int32_t depth, int32_t row, int32_t word) {
  int32_t whole = depth / steps * steps;
  if (word < whole)
    return ((ptrdiff_t)(word / steps) * rows + row) * steps + word % steps;
  return (ptrdiff_t)whole * rows + (ptrdiff_t)row * (depth - whole) + word - whole;
}

/* Words that are there whole, where their values lie together. */
INLINE void pack_dense(lhs_element *restrict packed, const element *a, ptrdiff_t row_stride,
                       int32_t rows, int32_t depth, int32_t words) {
  int32_t word = 0;
  for (; word + steps <= words; word += steps)
    for (int32_t row = 0; row < rows; ++row) {
      const element *from = a + row * row_stride + word * values;
      lhs_element *to = packed + ((ptrdiff_t)word * rows + row * steps) * values;
      *(unaligned_line *)to = lhs_line(*(const element_line *)from);
    }
  lanes left = first_lanes(words - word);
  for (int32_t row = 0; word < words && row < rows; ++row) {
    const element *from = a + row * row_stride + word * values;
    lhs_element *to = packed + place(rows, depth, row, word) * values;
    __builtin_masked_store(left,
                           lhs_line(__builtin_masked_load(left, (const unaligned_part *)from)),
                           (unaligned_word *)to);
  }
}

/* Rows as the microkernel's lhs; of K, `available` are left, and the rest is zero. */
static void pack_rows(lhs_element *restrict packed, const element *a, matrix shape, int32_t rows,
                      int32_t depth, int32_t available) {
  int32_t word = 0;
  if (shape.column_stride == 1) {
    word = least(depth, available / values);
    pack_dense(packed, a, shape.row_stride, rows, depth, word);
  }
  for (; word < depth; ++word) {
    lhs_element *to = packed + place(rows, depth, 0, word) * values;
    ptrdiff_t distance = (place(rows, depth, 1, word) - place(rows, depth, 0, word)) * values;
    const element *from = a + word * values * shape.column_stride;
    int32_t there = available - word * values;
    for (int32_t row = 0; row < rows; ++row, to += distance, from += shape.row_stride)
      for (int32_t value = 0; value < values; ++value)
        to[value] = lhs_of(value < there ? from[value * shape.column_stride] : 0);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The right operand                                                                            */

/* Sixteen lines become columns: four times, the first half of them is dealt with the second like
 * cards. */
INLINE void deal(word_line *cards) {
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
  deal(cards);
  for (int32_t i = 0; i < columns; ++i)
    *(unaligned_word_line *)(to + i * distance) = cards[i];
}

/* ... and fewer; there are zeros in place of other columns. */
static void transpose_part(rhs_element *restrict to, ptrdiff_t distance, const element *from,
                           ptrdiff_t column_stride, int32_t words, int32_t width) {
  typedef rhs_word unaligned_rhs_word __attribute__((aligned(1)));
  word_line cards[columns];
  /* Lanes that are masked may lie beyond the memory that there is, but that would take long. */
  for (int32_t i = 0; i < columns; ++i)
    cards[i] = __builtin_masked_load(
        first_lanes(i < width ? words : 0),
        (const unaligned_rhs_word *)(from + (i < width ? i * column_stride : 0)));
  deal(cards);
  for (int32_t i = 0; i < columns; ++i)
    if (i < words)
      *(unaligned_word_line *)(to + i * distance) = cards[i];
}

typedef element element_row __attribute__((ext_vector_type(16)));
typedef element_row unaligned_row __attribute__((aligned(1)));
typedef rhs_element element_pairs __attribute__((ext_vector_type(32), aligned(1)));
typedef rhs_element element_quads __attribute__((ext_vector_type(64), aligned(1)));

INLINE element_row row_at(const element *from) {
  return *(const unaligned_row *)from;
}
INLINE element_pairs zip(element_row a, element_row b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8,
                                 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
INLINE element_quads zip_pairs(element_pairs a, element_pairs b) {
  return __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                                 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 16, 48,
                                 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25,
                                 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
}

/* One vector of which all is there, from rows of N. */
INLINE void pack_whole_vector(rhs_element *restrict to, const element *restrict from,
                              ptrdiff_t stride) {
  if (values == 1)
    *(unaligned_row *)to = row_at(from);
  else if (values == 2)
    *(element_pairs *)to = zip(row_at(from), row_at(from + stride));
  else
    *(element_quads *)to = zip_pairs(zip(row_at(from), row_at(from + 2 * stride)),
                                     zip(row_at(from + stride), row_at(from + 3 * stride)));
}

/* One of which some may be beyond the matrix. */
INLINE void pack_vector(rhs_element *to, const element *from, matrix shape, int32_t rows,
                        int32_t width) {
  for (int32_t i = 0; i < columns * values; ++i)
    to[i] = 0;
  for (int32_t value = 0; value < least(values, rows); ++value)
    for (int32_t column = 0; column < least(columns, width); ++column)
      to[column * values + value] = from[value * shape.row_stride + column * shape.column_stride];
}

/* Up to 16 words of some vectors side by side that are in a panel each with `distance` between
 * words; of the matrix, `rows` of K and `width` columns are left. */
typedef struct cell {
  rhs_element *to;
  ptrdiff_t distance;
  const element *from;
  int32_t words, rows, width;
} cell;

static void pack_cell(cell at, matrix shape) {
  int32_t word = 0, whole = least(at.words, at.rows / values);
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

INLINE ptrdiff_t distance_in(const panels *in, int32_t vector) {
  int alone = in->panel == 1 || (vector | 1) >= in->vectors;
  return (alone ? 1 : 2) * columns * values;
}
INLINE rhs_element *place_in(const panels *in, int32_t vector, int32_t word) {
  int32_t in_panel = vector & (in->panel - 1);
  return in->packed + (vector - in_panel) * in->words * columns * values +
         word * distance_in(in, vector) + in_panel * columns * values;
}

/* Words of vectors from rows of N, all of them there. A line of the matrix holds a row of several
 * vectors, which are packed together: at some strides the cache has places for few lines. */
static void pack_across(const panels *in, const element *b, ptrdiff_t row_stride, int32_t first,
                        int32_t words, int32_t vectors) {
  enum { together = 64 / (columns * sizeof(element)), ahead = 128 / sizeof(element) };
  for (int32_t vector = 0; vector < vectors; vector += together) {
    rhs_element *to[together];
    ptrdiff_t distance[together];
    int32_t here = least(together, vectors - vector);
    for (int32_t i = 0; i < here; ++i) {
      to[i] = place_in(in, vector + i, first);
      distance[i] = distance_in(in, vector + i);
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
static void pack_vectors(panels in, result *bias, const element *b, matrix shape, int32_t depth,
                         int32_t rows, int32_t width) {
  for (int32_t i = 0; has_bias && bias && i < in.vectors * columns; ++i)
    bias[i] = 0;
  for (int32_t word = 0; word < depth; word += steps) {
    const element *from = b + word * values * shape.row_stride;
    int32_t here = least(steps, depth - word), left = rows - word * values, vector = 0;
    if (shape.column_stride == 1 && left >= here * values) {
      vector = width / columns;
      pack_across(&in, from, shape.row_stride, word, here, vector);
    }
    for (; vector < in.vectors; ++vector)
      pack_cell((cell){place_in(&in, vector, word), distance_in(&in, vector),
                       from + vector * columns * shape.column_stride, here, left,
                       width - vector * columns},
                shape);
    for (vector = 0; has_bias && bias && vector < in.vectors; ++vector)
      add_columns(bias + vector * columns, place_in(&in, vector, word), distance_in(&in, vector),
                  here);
  }
  for (int32_t i = 0; has_bias && bias && i < in.vectors * columns; ++i)
    bias[i] = bias_of(bias[i]);
}
