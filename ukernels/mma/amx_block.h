/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A block with AMX: tiles of 32 rows and two vectors, stored to C as they are. Only columns that
 * fill a part of a vector go by way of memory.
 */
#ifndef KDL_UKERNELS_MMA_AMX_BLOCK_H
#define KDL_UKERNELS_MMA_AMX_BLOCK_H

#include "amx.h"

enum { amx_panel = 2 * kdl_mma_columns };

/* In bytes; rhs_words and rhs_first in vectors. */
typedef struct amx_block {
  const char *lhs, *rhs;
  ptrdiff_t lhs_row, lhs_lot, lhs_tile, rhs_words, rhs_first;
  char *c;
  ptrdiff_t c_row;
  int32_t rows, columns, lots;
  int adds;
} amx_block;

INLINE amx_tile amx_tile_of(const amx_block *in, int32_t row, int32_t column) {
  const ptrdiff_t vectors = in->columns - column > kdl_mma_columns ? 2 : 1;
  const ptrdiff_t vector = column / kdl_mma_columns * in->rhs_words + in->rhs_first * vectors;
  return (amx_tile){.lhs = in->lhs + row / amx_both * in->lhs_tile,
                    .rhs = in->rhs + vector * amx_bytes,
                    .lhs_row = in->lhs_row,
                    .lhs_lot = in->lhs_lot,
                    .c = in->c + row * in->c_row + (ptrdiff_t)column * 4,
                    .c_row = in->c_row,
                    .lots = in->lots,
                    .adds = in->adds};
}

/* Sums on their way from or to a matrix that has no place for a whole tile of them. */
typedef struct amx_buffer {
  _Alignas(amx_bytes) char sums[amx_both * amx_panel * 4];
} amx_buffer;

INLINE void amx_copy(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int32_t rows,
                     int32_t columns) {
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t at = 0; at < columns; at += kdl_mma_columns) {
      __mmask16 there = (__mmask16)_bzhi_u32(0xffff, (uint32_t)(columns - at));
      _mm512_mask_storeu_epi32(to + row * to_row + at * 4, there,
                               _mm512_maskz_loadu_epi32(there, from + row * from_row + at * 4));
    }
}
INLINE amx_tile amx_borrow(amx_tile at, amx_buffer *buffer, int32_t row_size, int32_t rows,
                           int32_t columns) {
  if (at.adds)
    amx_copy(buffer->sums, row_size, at.c, at.c_row, rows, columns);
  at.c = buffer->sums;
  at.c_row = row_size;
  return at;
}

INLINE void amx_panel_of(const amx_block *in, int32_t row, int32_t rows, int32_t column,
                         amx_form form) {
  const amx_tile to = amx_tile_of(in, row, column);
  const int32_t width = in->columns - column < amx_panel ? in->columns - column : amx_panel;
  const int in_part = width % kdl_mma_columns != 0;
  amx_buffer buffer;
  const amx_tile at = in_part ? amx_borrow(to, &buffer, amx_panel * 4, rows, width) : to;
  form.two_vectors = 1;
  if (width > kdl_mma_columns)
    amx_multiply(&at, form);
  form.two_vectors = 0;
  if (width <= kdl_mma_columns)
    amx_multiply(&at, form);
  if (in_part)
    amx_copy(to.c, to.c_row, buffer.sums, amx_panel * 4, rows, width);
}

/* Rows in tiles of as many as are configured. While all of the right operand stays in L2, a tile
 * of the left one is in L1 for all of it. Otherwise a panel of the right one is used for all of the
 * left one, which is in L2. */
INLINE void amx_rows_of(const amx_block *in, int32_t first, int32_t end, amx_form form) {
  enum { small = 1 << 20 };
  const int32_t rows = end - first < amx_both ? end - first : amx_both;
  if ((ptrdiff_t)in->columns * in->lots * amx_bytes <= small) {
    form.streams_rhs = 1;
    for (int32_t row = first; row < end; row += amx_both)
      for (int32_t column = 0; column < in->columns; column += amx_panel)
        amx_panel_of(in, row, rows, column, form);
    return;
  }
  form.streams_lhs = 1;
  for (int32_t column = 0; column < in->columns; column += amx_panel)
    for (int32_t row = first; row < end; row += amx_both)
      amx_panel_of(in, row, rows, column, form);
}

/* One vector, with the sums of 64 rows: four tiles of these again, so that a multiplication need
 * not wait for the one before. */
INLINE void amx_vector_of(const amx_block *in, int32_t row) {
  const amx_form form = {.two_halves = 1, .two_vectors = 1};
  const amx_tile to = amx_tile_of(in, row, 0);
  amx_buffer buffer;
  const amx_tile at = amx_borrow(to, &buffer, amx_bytes, 2 * amx_both, in->columns);
  const char *lhs = to.lhs, *lower = amx_tile_of(in, row + amx_both, 0).lhs, *rhs = to.rhs;
  const ptrdiff_t half = amx_rows * in->lhs_row;
  if (at.adds)
    AMX_EACH_SUM(form, _tile_loadd, at.c, amx_bytes, amx_both * amx_bytes);
  else
    AMX_EACH_SUM(form, AMX_CLEAR, at.c, amx_bytes, amx_both * amx_bytes);
  for (int32_t lot = 0; lot < in->lots; ++lot) {
    _tile_loadd(6, rhs, amx_bytes);
    _tile_stream_loadd(4, lhs, in->lhs_row);
    multiply(0, 4, 6);
    _tile_stream_loadd(5, lhs + half, in->lhs_row);
    multiply(2, 5, 6);
    _tile_stream_loadd(4, lower, in->lhs_row);
    multiply(1, 4, 6);
    _tile_stream_loadd(5, lower + half, in->lhs_row);
    multiply(3, 5, 6);
    lhs += in->lhs_lot;
    lower += in->lhs_lot;
    rhs += amx_rows * amx_bytes;
  }
  AMX_EACH_SUM(form, _tile_stored, at.c, amx_bytes, amx_both * amx_bytes);
  amx_copy(to.c, to.c_row, buffer.sums, amx_bytes, 2 * amx_both, in->columns);
}

/* The tiles are configured for as many rows as there are whole ones of, then for what is left. */
INLINE void amx_block_run(const amx_block *in) {
  const int32_t whole = in->rows / amx_both * amx_both;
  int32_t row = 0;
  if (whole) {
    amx_configure(amx_both);
    for (; in->columns <= kdl_mma_columns && row + 2 * amx_both <= whole; row += 2 * amx_both)
      amx_vector_of(in, row);
  }
  while (row < in->rows) {
    int32_t end = row < whole ? whole : in->rows;
    if (end > whole)
      amx_configure(end - row);
    if (end - row > amx_rows)
      amx_rows_of(in, row, end, (amx_form){.two_halves = 1});
    else
      amx_rows_of(in, row, end, (amx_form){.two_halves = 0});
    row = end;
  }
  _tile_release();
}

#define KDL_MMA_AMX_BLOCK(name, element_type, acc_type)                                            \
  void name(KDL_MMA_BLOCK_PARAMETERS(element_type, acc_type)) {                                    \
    enum { size = sizeof(element_type) };                                                          \
    const amx_block in = {.lhs = (const char *)lhs,                                                \
                          .rhs = (const char *)rhs,                                                \
                          .lhs_row = lhs_row * size,                                               \
                          .lhs_lot = lhs_lot * size,                                               \
                          .lhs_tile = lhs_tile * size,                                             \
                          .rhs_words = rhs_words,                                                  \
                          .rhs_first = rhs_first,                                                  \
                          .c = (char *)c,                                                          \
                          .c_row = c_row * 4,                                                      \
                          .rows = rows,                                                            \
                          .columns = columns,                                                      \
                          .lots = lots,                                                            \
                          .adds = adds};                                                           \
    amx_block_run(&in);                                                                            \
  }

#endif
