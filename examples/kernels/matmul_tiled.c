/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * c = a b, as matmul.c, by tiles. On a device a group brings tiles of a and b into its own memory
 * and reads each element of them as often as the tile is wide. On a CPU, whose caches do that, a
 * call does a tile of c by rows of b, which are vectors: another algorithm, and another tile.
 */
#include <kdl/kernel.h>

#if KDL_HOST

enum { rows = 32, columns = 64 };

KDL_KERNEL(matmul, (1, 1, 1), (columns, rows, 1), (const float *restrict, a),
           (const float *restrict, b), (float *restrict, c), (uint32_t, m), (uint32_t, n),
           (uint32_t, k)) {
  uint64_t left = kdl_group_begin(kdl_group, 0), right = kdl_group_end(kdl_group, 0, n);
  uint64_t top = kdl_group_begin(kdl_group, 1), bottom = kdl_group_end(kdl_group, 1, m);
  for (uint64_t row = top; row < bottom; ++row) {
    float sums[columns] = {0};
    for (uint64_t i = 0; i < k; ++i) {
      for (uint64_t column = left; column < right; ++column)
        sums[column - left] += a[row * k + i] * b[i * n + column];
    }
    for (uint64_t column = left; column < right; ++column)
      c[row * n + column] = sums[column - left];
  }
}

#else

enum { side = 16 };

KDL_BLOCK(side, side)
__gpu_kernel void matmul(const __gpu_global float *a, const __gpu_global float *b,
                         __gpu_global float *c, uint32_t m, uint32_t n, uint32_t k) {
  KDL_LOCAL(float, tile_a[side][side]);
  KDL_LOCAL(float, tile_b[side][side]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1);
  uint32_t column = __gpu_block_id(0) * side + x, row = __gpu_block_id(1) * side + y;
  float sum = 0;
  for (uint32_t start = 0; start < k; start += side) {
    int has_a = row < m && start + x < k, has_b = column < n && start + y < k;
    tile_a[y][x] = has_a ? a[(uint64_t)row * k + start + x] : 0;
    tile_b[y][x] = has_b ? b[(uint64_t)(start + y) * n + column] : 0;
    __gpu_sync_threads();
    for (uint32_t i = 0; i < side; ++i)
      sum += tile_a[y][i] * tile_b[i][x];
    __gpu_sync_threads();
  }
  if (row < m && column < n)
    c[(uint64_t)row * n + column] = sum;
}

#endif
