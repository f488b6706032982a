/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop for AMX, whose registers are tiles of 16 rows of 64 bytes: of the left operand, 16 rows
 * of 16 words; of the right one, 16 vectors; of the result, 16 fragments. The layout has all three
 * as they are loaded, with intrinsics_k a multiple of 16.
 *
 * Four tiles hold sums: two halves of the rows, two vectors. The operating system must have
 * permitted AMX to the process, which libkdl asks for before it loads an image that needs it.
 *
 * The file that includes this has defined multiply(sum, lhs, rhs), of tiles named by constants;
 * form.unsigned_lhs tells it what bytes are.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_AMX_H
#define KDL_MATMUL_UKERNELS_MMA_AMX_H

#include <kdl/mma.h>

#include <immintrin.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

enum { amx_rows = 16, amx_bytes = 64, amx_both = 2 * amx_rows };

/* What LDTILECFG reads. */
typedef struct amx_shape {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes_per_row[16];
  uint8_t rows[16];
} amx_shape;

/* Tiles 0 to 3: sums, by half and vector; 4 and 5: halves of the rows; 6 and 7: vectors. */
INLINE void amx_configure(int32_t rows) {
  amx_shape shape = {.palette = 1};
  int32_t first = rows < amx_rows ? rows : amx_rows, second = rows - first;
  for (int32_t tile = 0; tile < 8; ++tile) {
    int32_t height = tile >= 6 ? amx_rows : tile == 2 || tile == 3 || tile == 5 ? second : first;
    shape.rows[tile] = (uint8_t)height;
    shape.bytes_per_row[tile] = height ? amx_bytes : 0;
  }
  _tile_loadconfig(&shape);
}

/* A tile of C, of up to 32 rows and 2 vectors; all in bytes. */
typedef struct amx_tile {
  const char *lhs, *rhs;
  ptrdiff_t lhs_row, lhs_lot;
  char *c;
  ptrdiff_t c_row;
  int32_t lots;
  int adds;
  ptrdiff_t ahead;  /* bytes by which rhs is fetched before it is loaded; 0: it is not */
  const char *next; /* C of the next tile; NULL: there is none */
} amx_tile;

/* Some rows of C of the next tile with each step block: those that are in pages of their own are
 * not fetched by the CPU itself. */
INLINE void amx_fetch_next(const amx_tile *at, int32_t lot) {
  const int32_t first = lot * amx_both / at->lots, end = (lot + 1) * amx_both / at->lots;
  for (int32_t row = first; at->next && row < end; ++row) {
    __builtin_prefetch(at->next + row * at->c_row, 1, 2);
    __builtin_prefetch(at->next + row * at->c_row + amx_bytes, 1, 2);
  }
}

/* Constants. A right operand that streams is not needed from L1 again, and leaves its place there
 * to the left one. */
typedef struct amx_form {
  int two_halves, two_vectors, streams_rhs, unsigned_lhs;
} amx_form;

/* An action for each tile of sums; `next` is the distance from the first to the second. */
#define AMX_EACH_SUM(form, action, c, row, next)                                                   \
  do {                                                                                             \
    action(0, c, row);                                                                             \
    if ((form).two_vectors)                                                                        \
      action(1, (c) + (next), row);                                                                \
    if ((form).two_halves)                                                                         \
      action(2, (c) + amx_rows * (row), row);                                                      \
    if ((form).two_halves && (form).two_vectors)                                                   \
      action(3, (c) + amx_rows * (row) + (next), row);                                             \
  } while (0)
#define AMX_CLEAR(tile, c, row) _tile_zero(tile)
#define AMX_LOAD(tile, from, row, streams)                                                         \
  do {                                                                                             \
    if (streams)                                                                                   \
      _tile_stream_loadd(tile, from, row);                                                         \
    else                                                                                           \
      _tile_loadd(tile, from, row);                                                                \
  } while (0)

/* A tile is loaded anew as soon as it has been multiplied for the last time. */
INLINE void amx_add_products(const amx_tile *at, amx_form form) {
  const ptrdiff_t step = (form.two_vectors ? 2 : 1) * amx_bytes, half = amx_rows * at->lhs_row;
  const char *lhs = at->lhs, *rhs = at->rhs;
  _tile_loadd(4, lhs, at->lhs_row);
  AMX_LOAD(6, rhs, step, form.streams_rhs);
  if (form.two_vectors)
    AMX_LOAD(7, rhs + amx_bytes, step, form.streams_rhs);
  if (form.two_halves)
    _tile_loadd(5, lhs + half, at->lhs_row);
  for (int32_t lot = 1; lot < at->lots; ++lot) {
    lhs += at->lhs_lot;
    rhs += amx_rows * step;
    for (ptrdiff_t line = 0; at->ahead && line < amx_rows * step; line += amx_bytes)
      __builtin_prefetch(rhs + at->ahead + line, 0, 2);
    amx_fetch_next(at, lot - 1);
    multiply(0, 4, 6);
    if (form.two_vectors)
      multiply(1, 4, 7);
    _tile_loadd(4, lhs, at->lhs_row);
    if (form.two_halves)
      multiply(2, 5, 6);
    AMX_LOAD(6, rhs, step, form.streams_rhs);
    if (form.two_halves && form.two_vectors)
      multiply(3, 5, 7);
    if (form.two_vectors)
      AMX_LOAD(7, rhs + amx_bytes, step, form.streams_rhs);
    if (form.two_halves)
      _tile_loadd(5, lhs + half, at->lhs_row);
  }
  multiply(0, 4, 6);
  if (form.two_vectors)
    multiply(1, 4, 7);
  if (form.two_halves)
    multiply(2, 5, 6);
  if (form.two_halves && form.two_vectors)
    multiply(3, 5, 7);
}

INLINE void amx_multiply(const amx_tile *at, amx_form form) {
  if (at->adds)
    AMX_EACH_SUM(form, _tile_loadd, at->c, at->c_row, amx_bytes);
  else
    AMX_EACH_SUM(form, AMX_CLEAR, at->c, at->c_row, amx_bytes);
  if (at->lots)
    amx_add_products(at, form);
  AMX_EACH_SUM(form, _tile_stored, at->c, at->c_row, amx_bytes);
}

/* The microkernel; at most 32 rows. */
#define KDL_MMA_AMX(name, lhs_type, rhs_type, acc_type)                                            \
  void name(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {                                    \
    const amx_form form = {.two_halves = intrinsics_m > amx_rows,                                  \
                           .two_vectors = intrinsics_n > 1,                                        \
                           .unsigned_lhs = 1};                                                     \
    amx_tile at = {.lhs = (const char *)(lhs_base + lhs_offset),                                   \
                   .rhs = (const char *)(rhs_base + rhs_offset),                                   \
                   .lhs_row = (ptrdiff_t)intrinsics_k * 4,                                         \
                   .lhs_lot = amx_bytes,                                                           \
                   .c = (char *)(acc_base + acc_offset),                                           \
                   .c_row = (ptrdiff_t)intrinsics_n * amx_bytes,                                   \
                   .lots = intrinsics_k / kdl_mma_steps,                                           \
                   .adds = 1};                                                                     \
    if (intrinsics_k == kdl_mma_steps) {                                                           \
      at.lhs_lot = (ptrdiff_t)intrinsics_m * amx_bytes;                                            \
      at.lots = k_outer;                                                                           \
      k_outer = 1;                                                                                 \
    }                                                                                              \
    amx_configure(intrinsics_m);                                                                   \
    for (int32_t outer = 0; outer < k_outer; ++outer) {                                            \
      amx_multiply(&at, form);                                                                     \
      at.lhs += (ptrdiff_t)intrinsics_m * intrinsics_k * 4;                                        \
      at.rhs += (ptrdiff_t)intrinsics_n * intrinsics_k * amx_bytes;                                \
    }                                                                                              \
    _tile_release();                                                                               \
  }

#endif
