/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The instructions of AMX as functions, to be included before what uses them. Where the CPU would
 * raise an exception (registers that are not configured, or not for each other), they abort. */
#ifndef KDL_TESTS_UKERNELS_AMX_EMULATED_H
#define KDL_TESTS_UKERNELS_AMX_EMULATED_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct emulated_tile {
  int rows, row_size;
  uint8_t bytes[16][64];
} emulated_tile;

static emulated_tile emulated_tiles[8];

static inline emulated_tile *emulated(int tile) {
  if (!emulated_tiles[tile].rows)
    abort();
  return &emulated_tiles[tile];
}

static inline void emulated_configure(const void *shape) {
  const uint8_t *bytes = shape;
  memset(emulated_tiles, 0, sizeof emulated_tiles);
  for (int tile = 0; tile < 8; ++tile) {
    uint16_t row_size;
    memcpy(&row_size, bytes + 16 + 2 * tile, sizeof row_size);
    if (bytes[0] != 1 || row_size > 64 || bytes[48 + tile] > 16 || !row_size != !bytes[48 + tile])
      abort();
    emulated_tiles[tile].row_size = row_size;
    emulated_tiles[tile].rows = bytes[48 + tile];
  }
}
static inline void emulated_release(void) {
  memset(emulated_tiles, 0, sizeof emulated_tiles);
}
static inline void emulated_zero(int tile) {
  memset(emulated(tile)->bytes, 0, sizeof emulated_tiles->bytes);
}
static inline void emulated_load(int tile, const void *from, ptrdiff_t stride) {
  emulated_tile *to = emulated(tile);
  emulated_zero(tile);
  for (int row = 0; row < to->rows; ++row)
    memcpy(to->bytes[row], (const char *)from + row * stride, (size_t)to->row_size);
}
static inline void emulated_store(int tile, void *to, ptrdiff_t stride) {
  const emulated_tile *from = emulated(tile);
  for (int row = 0; row < from->rows; ++row)
    memcpy((char *)to + row * stride, from->bytes[row], (size_t)from->row_size);
}

typedef enum emulated_kind { bf16_bf16, u8_s8, s8_s8 } emulated_kind;

static inline float emulated_bf16(const uint8_t *bytes) {
  uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A word of the left operand with one of the right one, added to a sum. */
static inline void emulated_add(uint8_t *sum, const uint8_t *a, const uint8_t *b,
                                emulated_kind kind) {
  float real;
  int32_t integer;
  memcpy(&real, sum, sizeof real);
  memcpy(&integer, sum, sizeof integer);
  for (int i = 0; kind == bf16_bf16 && i < 4; i += 2)
    real += emulated_bf16(a + i) * emulated_bf16(b + i);
  for (int i = 0; kind != bf16_bf16 && i < 4; ++i)
    integer += (kind == u8_s8 ? a[i] : (int8_t)a[i]) * (int8_t)b[i];
  if (kind == bf16_bf16)
    memcpy(sum, &real, sizeof real);
  else
    memcpy(sum, &integer, sizeof integer);
}

static inline void emulated_multiply(int sums, int lhs, int rhs, emulated_kind kind) {
  emulated_tile *c = emulated(sums);
  const emulated_tile *a = emulated(lhs), *b = emulated(rhs);
  if (sums == lhs || sums == rhs || lhs == rhs || c->rows != a->rows ||
      c->row_size != b->row_size || a->row_size != 4 * b->rows)
    abort();
  for (int row = 0; row < c->rows; ++row)
    for (int word = 0; word < b->rows; ++word)
      for (int column = 0; column < c->row_size; column += 4)
        emulated_add(c->bytes[row] + column, a->bytes[row] + 4 * word, b->bytes[word] + column,
                     kind);
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#undef _tile_dpbssd
#define _tile_loadconfig emulated_configure
#define _tile_release emulated_release
#define _tile_zero emulated_zero
#define _tile_loadd emulated_load
#define _tile_stream_loadd emulated_load
#define _tile_stored emulated_store
#define _tile_dpbf16ps(sums, lhs, rhs) emulated_multiply(sums, lhs, rhs, bf16_bf16)
#define _tile_dpbusd(sums, lhs, rhs) emulated_multiply(sums, lhs, rhs, u8_s8)
#define _tile_dpbssd(sums, lhs, rhs) emulated_multiply(sums, lhs, rhs, s8_s8)

#endif
