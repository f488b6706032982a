/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A matrix B of few columns, as the left operand: C' = B' A'. matmul.h includes this; which
 * explains the types.
 */
#include "block.h"

enum { narrow_columns = 8 };

/* How many columns, the last, are multiplied so: those that would fill little of a vector. Beside
 * others, the rows of A must be packed for both, so that it is worth its while for fewer only,
 * where K is long, and they would have a panel for themselves. In blocks, a vector that is used in
 * part takes less time than rows of A that are made vectors. */
INLINE int32_t narrow_columns_of(uint32_t n, int32_t words) {
  enum { beside_others = 4, long_words = 64 };
  int32_t last = (int32_t)(n % columns), vectors = (int32_t)(n / columns);
  if (has_blocks())
    return 0;
  if (n <= narrow_columns)
    return (int32_t)n;
  return last <= beside_others && words >= long_words && vectors % tile_vectors() == 0 ? last : 0;
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
    int32_t there = min_i32(rows, n - first);
    matrix exchanged = {shape.column_stride, shape.row_stride};
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t at = 0; at < words * values; ++at) {
        element x = 0;
        if (row < there && at < k)
          x = b[(first + row) * exchanged.row_stride + at * exchanged.column_stride];
        to[packed_offset(rows, words, row, at / values) * values + at % values] = lhs_of(x);
      }
  }
}

/* Sums, a row for each column of C, to where they belong. */
static void narrow_store(result *c, matrix shape, result *sums, ptrdiff_t stride, int32_t rows,
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
 * it stays in L1; the sums are in memory meanwhile. */
static void narrow_run(const lhs_element *b, const element *a, matrix a_shape, result *c,
                       matrix c_shape, int32_t m, int32_t n, int32_t k, int32_t words,
                       int accumulate, rhs_element *panel) {
  enum { most = 128, most_columns = max_vectors * columns };
  result sums[(narrow_columns + 1) * most_columns];
  division tiles = divide(narrow_rows(n), tile_rows());
  matrix transposed = {a_shape.column_stride, a_shape.row_stride};
  int32_t wide = tile_vectors() * columns;
  for (int32_t row = 0; row < m; row += wide) {
    int32_t width = min_i32(wide, m - row), vectors = (width + columns - 1) / columns;
    int32_t stride = vectors * columns;
    for (int32_t i = 0; i < narrow_rows(n) * stride; ++i)
      sums[i] = 0;
    for (int32_t word = 0; word < words; word += most) {
      int32_t depth = min_i32(most, words - word);
      pack_vectors((panels){panel, depth, vectors, vectors}, 0,
                   a + row * a_shape.row_stride + word * values * a_shape.column_stride, transposed,
                   depth, k - word * values, width);
      for (int32_t tile = 0; tile < tiles.parts; ++tile) {
        int32_t first = part_begin(tiles, tile), rows = part_size(tiles, tile);
        run_tile(
            &(tile_params){.depth = depth,
                           .step_blocks = depth / steps,
                           .stride = stride,
                           .adds = 1,
                           .streams = 1},
            &(tile_args){.lhs = b + ((ptrdiff_t)first * words + (ptrdiff_t)word * rows) * values,
                         .rhs = panel,
                         .c = sums + first * stride,
                         .rows = rows,
                         .width = stride});
      }
    }
    narrow_store(c + row * c_shape.row_stride, c_shape, sums, stride, width, n, accumulate);
  }
}
