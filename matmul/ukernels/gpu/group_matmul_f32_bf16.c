/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* GPUs, without their matrix instructions: each work-item has 8 by 8 numbers of the tile, 16 apart.
 */
#include <kdl/ukernels.h>

#include <gpuintrin.h>

enum { depth = 16, side = 16, each = kdl_uk_group_tile / side };

typedef __gpu_local float lines[depth][kdl_uk_group_tile];

static inline float value_of(uint16_t bits) {
  return __builtin_bit_cast(float, (uint32_t)bits << 16);
}

void kdl_uk_group_matmul_f32_bf16(const uint16_t *a, int64_t a_row, const uint16_t *b,
                                  int64_t b_row, float *c, int64_t c_row, int32_t rows,
                                  int32_t columns, int32_t k, void *group_memory) {
  lines *held = (lines *)(__gpu_local uint8_t *)group_memory; /* of a, and of b */
  const int32_t item = (int32_t)__gpu_thread_id(0), x = item % side, y = item / side;
  float sums[each][each] = {{0}};
  for (int32_t first = 0; first < k; first += depth) {
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < depth * kdl_uk_group_tile / kdl_uk_group_items; ++i) {
      const int32_t at = item + i * kdl_uk_group_items;
      const int32_t at_k = at % depth, row = at / depth;
      const int32_t line = at / kdl_uk_group_tile, column = at % kdl_uk_group_tile;
      held[0][at_k][row] =
          row < rows && first + at_k < k ? value_of(a[row * a_row + first + at_k]) : 0;
      held[1][line][column] =
          column < columns && first + line < k ? value_of(b[(first + line) * b_row + column]) : 0;
    }
    __gpu_sync_threads();
    for (int32_t step = 0; step < depth; ++step) {
#pragma clang loop unroll(full)
      for (int32_t i = 0; i < each; ++i) {
#pragma clang loop unroll(full)
        for (int32_t j = 0; j < each; ++j)
          sums[i][j] += held[0][step][y + i * side] * held[1][step][x + j * side];
      }
    }
    __gpu_sync_threads();
  }
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < each; ++i) {
#pragma clang loop unroll(full)
    for (int32_t j = 0; j < each; ++j) {
      if (y + i * side < rows && x + j * side < columns)
        c[(y + i * side) * c_row + x + j * side] = sums[i][j];
    }
  }
}
