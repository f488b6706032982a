/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CPUs: packs blocks of both operands for the tile of <kdl/mma.h> that the CPU has. */
#include <kdl/mma.h>
#include <kdl/ukernels.h>

enum {
  lots = 8, /* of K in a block, of kdl_mma_steps words each */
  block_words = lots * kdl_mma_steps,
  most_rows = 32, /* of a tile */
  most_vectors = 8,
};

typedef uint16_t pair __attribute__((vector_size(4)));

/* Two values along K of a column, or zeros. */
static inline pair rhs_pair(const uint16_t *b, int64_t b_row, int32_t k, int32_t count,
                            int32_t column, int32_t columns) {
  pair found = {0, 0};
  if (column < columns && k < count)
    found[0] = b[k * b_row + column];
  if (column < columns && k + 1 < count)
    found[1] = b[(k + 1) * b_row + column];
  return found;
}

static inline void pack_rhs(pair *to, const uint16_t *b, int64_t b_row, int32_t count,
                            int32_t columns, int32_t words, int32_t width) {
  for (int32_t word = 0; word < words; ++word) {
    const uint16_t *row = b + 2 * word * b_row;
    if (width <= columns && 2 * word + 1 < count) {
      for (int32_t j = 0; j < width; ++j)
        to[word * width + j] = (pair){row[j], row[b_row + j]};
    } else {
      for (int32_t j = 0; j < width; ++j)
        to[word * width + j] = rhs_pair(b, b_row, 2 * word, count, j, columns);
    }
  }
}

static inline void pack_lhs(uint16_t *to, const uint16_t *a, int64_t a_row, int32_t count,
                            int32_t rows, int32_t tile_rows, int32_t used_lots) {
  enum { lot = 2 * kdl_mma_steps };
  for (int32_t outer = 0; outer < used_lots; ++outer) {
    for (int32_t row = 0; row < tile_rows; ++row) {
      uint16_t *into = to + (outer * tile_rows + row) * lot;
      const uint16_t *from = a + row * a_row + outer * lot;
      if (row < rows && (outer + 1) * lot <= count) {
        __builtin_memcpy(into, from, lot * sizeof *into);
      } else {
        for (int32_t i = 0; i < lot; ++i)
          into[i] = row < rows && outer * lot + i < count ? from[i] : 0;
      }
    }
  }
}

static inline int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

void kdl_uk_group_matmul_f32_bf16(const uint16_t *a, int64_t a_row, const uint16_t *b,
                                  int64_t b_row, float *c, int64_t c_row, int32_t rows,
                                  int32_t columns, int32_t k, void *group_memory) {
  const uint32_t tile = kdl_uk_mma_f32_bf16_tile();
  const int32_t tile_rows = least((int32_t)(tile & 0xff), most_rows);
  const int32_t vectors = least((int32_t)(tile >> 8 & 0xff), most_vectors);
  const int32_t width = vectors * kdl_mma_columns;
  pair rhs[block_words * (kdl_uk_group_tile + most_vectors * kdl_mma_columns)];
  uint16_t lhs[2 * block_words * most_rows];
  float sums[most_rows * most_vectors * kdl_mma_columns];
  (void)group_memory;
  int32_t first = 0;
  do {
    const int32_t count = least(k - first, 2 * block_words);
    const int32_t used_lots = (count + 2 * kdl_mma_steps - 1) / (2 * kdl_mma_steps);
    const int32_t words = used_lots * kdl_mma_steps;
    for (int32_t column = 0; column < columns; column += width)
      pack_rhs(rhs + block_words * column, b + first * b_row + column, b_row, count,
               columns - column, words, width);
    for (int32_t row = 0; row < rows; row += tile_rows) {
      const int32_t here = least(rows - row, tile_rows);
      pack_lhs(lhs, a + row * a_row + first, a_row, count, here, tile_rows, used_lots);
      for (int32_t column = 0; column < columns; column += width) {
        const int32_t wide = least(columns - column, width);
        float *into = c + row * c_row + column;
        for (int32_t i = 0; i < tile_rows; ++i) {
          for (int32_t j = 0; j < width; ++j)
            sums[i * width + j] = first && i < here && j < wide ? into[i * c_row + j] : 0;
        }
        kdl_uk_mma_f32_bf16(lhs, 0, (const kdl_bf16 *)(rhs + block_words * column), 0, sums, 0,
                            used_lots, tile_rows, vectors, kdl_mma_steps);
        for (int32_t i = 0; i < here; ++i) {
          for (int32_t j = 0; j < wide; ++j)
            into[i * c_row + j] = sums[i * width + j];
        }
      }
    }
    first += 2 * block_words;
  } while (first < k);
}
