/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop for AMX, whose registers are tiles of 16 rows of 64 bytes: of the left operand, 16 rows
 * of 16 words; of the right one, 16 vectors; of the result, 16 fragments. The layout has all three
 * as they are loaded, with intrinsics_k a multiple of 16.
 *
 * Four tiles hold sums: two halves of the rows, two vectors. The operating system must have
 * permitted AMX to the process, which libkdl asks for before it loads an image that needs it.
 */
#ifndef KDL_UKERNELS_MMA_AMX_H
#define KDL_UKERNELS_MMA_AMX_H

#include <kdl/mma.h>

#include <immintrin.h>
#include <stddef.h>

enum { amx_rows = 16, amx_bytes = 64 };

/* What LDTILECFG reads. */
typedef struct amx_shape {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes_per_row[16];
  uint8_t rows[16];
} amx_shape;

/* Tiles 0 to 3: sums, by half and vector; 4 and 5: halves of the rows; 6 and 7: vectors. */
static inline void amx_configure(int32_t rows) {
  amx_shape shape = {.palette = 1};
  int32_t first = rows < amx_rows ? rows : amx_rows, second = rows - first;
  for (int32_t tile = 0; tile < 8; ++tile) {
    int32_t height = tile >= 6 ? amx_rows : tile == 2 || tile == 3 || tile == 5 ? second : first;
    shape.rows[tile] = (uint8_t)height;
    shape.bytes_per_row[tile] = height ? amx_bytes : 0;
  }
  _tile_loadconfig(&shape);
}

/* Up to 32 rows, of `all` in a lot. */
#define KDL_MMA_AMX_ROWS(name, multiply)                                                           \
  static inline void name(const char *lhs, const char *rhs, char *acc, int32_t k_outer,            \
                          int32_t rows, int32_t all, int32_t intrinsics_n, int32_t intrinsics_k) { \
    const int32_t stride = intrinsics_n * amx_bytes;                                               \
    const int two_halves = rows > amx_rows, two_vectors = intrinsics_n > 1;                        \
    _tile_loadd(0, acc, stride);                                                                   \
    if (two_vectors)                                                                               \
      _tile_loadd(1, acc + amx_bytes, stride);                                                     \
    if (two_halves)                                                                                \
      _tile_loadd(2, acc + amx_rows * stride, stride);                                             \
    if (two_halves && two_vectors)                                                                 \
      _tile_loadd(3, acc + amx_rows * stride + amx_bytes, stride);                                 \
    for (int32_t outer = 0; outer < k_outer; ++outer) {                                            \
      for (int32_t k = 0; k < intrinsics_k; k += kdl_mma_steps) {                                  \
        const char *words = lhs + k * 4;                                                           \
        _tile_loadd(4, words, intrinsics_k * 4);                                                   \
        _tile_loadd(6, rhs, stride);                                                               \
        multiply(0, 4, 6);                                                                         \
        if (two_vectors) {                                                                         \
          _tile_loadd(7, rhs + amx_bytes, stride);                                                 \
          multiply(1, 4, 7);                                                                       \
        }                                                                                          \
        if (two_halves) {                                                                          \
          _tile_loadd(5, words + amx_rows * intrinsics_k * 4, intrinsics_k * 4);                   \
          multiply(2, 5, 6);                                                                       \
        }                                                                                          \
        if (two_halves && two_vectors)                                                             \
          multiply(3, 5, 7);                                                                       \
        rhs += intrinsics_n * amx_rows * amx_bytes;                                                \
      }                                                                                            \
      lhs += (ptrdiff_t)all * intrinsics_k * 4;                                                    \
    }                                                                                              \
    _tile_stored(0, acc, stride);                                                                  \
    if (two_vectors)                                                                               \
      _tile_stored(1, acc + amx_bytes, stride);                                                    \
    if (two_halves)                                                                                \
      _tile_stored(2, acc + amx_rows * stride, stride);                                            \
    if (two_halves && two_vectors)                                                                 \
      _tile_stored(3, acc + amx_rows * stride + amx_bytes, stride);                                \
  }

/* More rows than the tiles hold are taken 32 at a time: to configure the tiles takes longer than to
 * multiply some of them. */
#define KDL_MMA_AMX(name, lhs_type, rhs_type, acc_type, multiply)                                  \
  KDL_MMA_AMX_ROWS(name##_rows, multiply)                                                          \
  void name(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {                                    \
    const char *lhs = (const char *)(lhs_base + lhs_offset);                                       \
    const char *rhs = (const char *)(rhs_base + rhs_offset);                                       \
    char *acc = (char *)(acc_base + acc_offset);                                                   \
    int32_t configured = 0;                                                                        \
    for (int32_t row = 0; row < intrinsics_m; row += 2 * amx_rows) {                               \
      int32_t rows = intrinsics_m - row < 2 * amx_rows ? intrinsics_m - row : 2 * amx_rows;        \
      if (rows != configured)                                                                      \
        amx_configure(rows);                                                                       \
      configured = rows;                                                                           \
      name##_rows(lhs + (ptrdiff_t)row * intrinsics_k * 4, rhs,                                    \
                  acc + (ptrdiff_t)row * intrinsics_n * amx_bytes, k_outer, rows, intrinsics_m,    \
                  intrinsics_n, intrinsics_k);                                                     \
    }                                                                                              \
    _tile_release();                                                                               \
  }

#endif
