/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A block with AMX: tiles of 32 rows and two vectors, stored to C as they are. Only columns that
 * fill a part of a vector go by way of memory.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_AMX_BLOCK_H
#define KDL_MATMUL_UKERNELS_MMA_AMX_BLOCK_H

#include "amx.h"

enum { amx_panel = 2 * kdl_mma_columns };

/* A right operand that is used for one tile of rows comes from memory: it is fetched so far ahead,
 * in the next page, where the CPU does not look by itself. Half a tile does not wait for it. Rows
 * of C that are further apart are in pages of their own, too. */
enum { amx_page = 4096 };

/* In bytes; rhs_words and rhs_first in vectors. */
typedef struct amx_block {
  const char *lhs, *rhs;
  ptrdiff_t lhs_row, lhs_lot, lhs_last_lot, lhs_tile, rhs_words, rhs_first;
  char *c;
  ptrdiff_t c_row;
  int32_t rows, columns, lots;
  int adds;
} amx_block;

INLINE int32_t amx_least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

INLINE amx_tile amx_tile_of(const amx_block *in, int32_t row, int32_t column) {
  const ptrdiff_t vectors = in->columns - column > kdl_mma_columns ? 2 : 1;
  const ptrdiff_t vector = column / kdl_mma_columns * in->rhs_words + in->rhs_first * vectors;
  return (amx_tile){.lhs = in->lhs + row / amx_both * in->lhs_tile,
                    .rhs = in->rhs + vector * amx_bytes,
                    .lhs_row = in->lhs_row,
                    .lhs_lot = in->rows - row < amx_both ? in->lhs_last_lot : in->lhs_lot,
                    .c = in->c + row * in->c_row + (ptrdiff_t)column * 4,
                    .c_row = in->c_row,
                    .lots = in->lots,
                    .adds = in->adds,
                    .ahead = in->rows > amx_rows && in->rows <= amx_both ? amx_page : 0};
}

/* Sums on their way from or to a matrix that has no place for a whole tile of them. */
enum { amx_buffer_row = amx_panel * 4 };
typedef struct amx_buffer {
  _Alignas(amx_bytes) char sums[amx_both * amx_buffer_row];
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
INLINE amx_tile amx_borrow(amx_tile at, amx_buffer *buffer, int32_t rows, int32_t columns) {
  if (at.adds)
    amx_copy(buffer->sums, amx_buffer_row, at.c, at.c_row, rows, columns);
  at.c = buffer->sums;
  at.c_row = amx_buffer_row;
  return at;
}

/* Rows of a matrix that is not packed, into L2: those of the next tile that fall to this panel. */
INLINE void amx_fetch(const amx_block *in, int32_t row, int32_t column) {
  const int32_t next = row + amx_both, rows = amx_least(amx_both, in->rows - next);
  const int32_t panel = column / amx_panel, panels = (in->columns + amx_panel - 1) / amx_panel;
  const char *lhs = in->lhs + next / amx_both * in->lhs_tile;
  if (in->lhs_row == amx_bytes)
    return;
  for (int32_t at = rows * panel / panels; at < rows * (panel + 1) / panels; ++at)
    for (int32_t lot = 0; lot < in->lots; ++lot)
      __builtin_prefetch(lhs + at * in->lhs_row + lot * in->lhs_lot, 0, 2);
}

INLINE void amx_multiply_part(const amx_tile *at, int32_t rows, int32_t columns) {
  amx_form form = {.two_halves = 1, .two_vectors = 1, .streams_rhs = 1};
  if (rows > amx_rows && columns > kdl_mma_columns)
    amx_multiply(at, form);
  form.two_vectors = 0;
  if (rows > amx_rows && columns <= kdl_mma_columns)
    amx_multiply(at, form);
  form.two_halves = 0;
  if (rows <= amx_rows && columns <= kdl_mma_columns)
    amx_multiply(at, form);
  form.two_vectors = 1;
  if (rows <= amx_rows && columns > kdl_mma_columns)
    amx_multiply(at, form);
}

/* A tile; the registers are configured for `configured` rows. */
INLINE void amx_tile_run(const amx_block *in, int32_t *configured, int32_t row, int32_t column) {
  const int32_t rows = amx_least(amx_both, in->rows - row);
  const int32_t columns = amx_least(amx_panel, in->columns - column);
  const int in_part = columns % kdl_mma_columns != 0;
  const amx_tile to = amx_tile_of(in, row, column);
  amx_buffer buffer;
  amx_tile at = in_part ? amx_borrow(to, &buffer, rows, columns) : to;
  if (in->c_row > amx_page && rows == amx_both && in->columns - column >= 2 * amx_panel)
    at.next = to.c + amx_buffer_row;
  if (rows != *configured)
    amx_configure(*configured = rows);
  amx_fetch(in, row, column);
  amx_multiply_part(&at, rows, columns);
  if (in_part)
    amx_copy(to.c, to.c_row, buffer.sums, amx_buffer_row, rows, columns);
}

/* 64 rows by one vector: four tiles of sums again, the second of each half being 32 rows below, so
 * that a multiplication need not wait for the one before. */
INLINE void amx_vector_run(const amx_block *in, int32_t row) {
  const amx_form form = {.two_halves = 1, .two_vectors = 1};
  const amx_tile at = amx_tile_of(in, row, 0);
  const ptrdiff_t half = amx_rows * at.lhs_row;
  const char *lhs = at.lhs, *below = lhs + in->lhs_tile, *rhs = at.rhs;
  char *c_below = at.c + amx_both * at.c_row;
  amx_buffer buffer;
  char *sums = buffer.sums, *sums_below = sums + amx_bytes;
  if (at.adds) {
    amx_copy(sums, amx_buffer_row, at.c, at.c_row, amx_both, in->columns);
    amx_copy(sums_below, amx_buffer_row, c_below, at.c_row, amx_both, in->columns);
    AMX_EACH_SUM(form, _tile_loadd, sums, amx_buffer_row, amx_bytes);
  } else {
    AMX_EACH_SUM(form, AMX_CLEAR, sums, amx_buffer_row, amx_bytes);
  }
  for (int32_t lot = 0; lot < at.lots; ++lot) {
    _tile_loadd(6, rhs, amx_bytes);
    _tile_stream_loadd(4, lhs, at.lhs_row);
    multiply(0, 4, 6);
    _tile_stream_loadd(5, lhs + half, at.lhs_row);
    multiply(2, 5, 6);
    _tile_stream_loadd(4, below, at.lhs_row);
    multiply(1, 4, 6);
    _tile_stream_loadd(5, below + half, at.lhs_row);
    multiply(3, 5, 6);
    lhs += at.lhs_lot;
    below += at.lhs_lot;
    rhs += amx_rows * amx_bytes;
  }
  AMX_EACH_SUM(form, _tile_stored, sums, amx_buffer_row, amx_bytes);
  amx_copy(at.c, at.c_row, sums, amx_buffer_row, amx_both, in->columns);
  amx_copy(c_below, at.c_row, sums_below, amx_buffer_row, amx_both, in->columns);
}

/* A tile of the left operand is in L1 for all of the right one, which L2 keeps. */
INLINE void amx_block_run(const amx_block *in, int32_t *configured) {
  int32_t row = 0;
  if (in->columns <= kdl_mma_columns && in->rows >= 2 * amx_both) {
    if (*configured != amx_both)
      amx_configure(*configured = amx_both);
    for (; row + 2 * amx_both <= in->rows; row += 2 * amx_both)
      amx_vector_run(in, row);
  }
  for (; row < in->rows; row += amx_both)
    for (int32_t column = 0; column < in->columns; column += amx_panel)
      amx_tile_run(in, configured, row, column);
}

INLINE void amx_block_end(int32_t *configured) {
  if (*configured)
    _tile_release();
  *configured = 0;
}

#define KDL_MMA_AMX_BLOCK(name, element_type, acc_type)                                            \
  void name(KDL_MMA_BLOCK_PARAMETERS(element_type, acc_type)) {                                    \
    enum { size = sizeof(element_type) };                                                          \
    const amx_block in = {.lhs = (const char *)lhs,                                                \
                          .rhs = (const char *)rhs,                                                \
                          .lhs_row = lhs_row * size,                                               \
                          .lhs_lot = lhs_lot * size,                                               \
                          .lhs_last_lot = lhs_last_lot * size,                                     \
                          .lhs_tile = lhs_tile * size,                                             \
                          .rhs_words = rhs_words,                                                  \
                          .rhs_first = rhs_first,                                                  \
                          .c = (char *)c,                                                          \
                          .c_row = c_row * 4,                                                      \
                          .rows = rows,                                                            \
                          .columns = columns,                                                      \
                          .lots = lots,                                                            \
                          .adds = adds};                                                           \
    if (rows)                                                                                      \
      amx_block_run(&in, configured);                                                              \
    else                                                                                           \
      amx_block_end(configured);                                                                   \
  }

#endif
