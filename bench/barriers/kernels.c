/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels as textbooks write them for GPUs: group memory, and work-items that wait for one another.
 */
#include <kdl/kernel.h>

enum { items = 256, tile = 16, bins = 256, per_item = 16 };

typedef const __gpu_global float *in;
typedef __gpu_global float *out;

/* A tree of sums in each group. */
KDL_BLOCK(items)
__gpu_kernel void reduce(in x, out y, uint32_t n) {
  KDL_LOCAL(float, sums[items]);
  uint32_t t = __gpu_thread_id(0), i = __gpu_block_id(0) * (items * 2) + t;
  sums[t] = (i < n ? x[i] : 0.0f) + (i + items < n ? x[i + items] : 0.0f);
  __gpu_sync_threads();
  for (uint32_t left = items / 2; left > 0; left /= 2) {
    if (t < left)
      sums[t] += sums[t + left];
    __gpu_sync_threads();
  }
  if (t == 0)
    y[__gpu_block_id(0)] = sums[0];
}

/* Hillis and Steele's inclusive scan of each group. */
KDL_BLOCK(items)
__gpu_kernel void scan(in x, out y, uint32_t n) {
  KDL_LOCAL(float, sums[2 * items]);
  uint32_t t = __gpu_thread_id(0), i = __gpu_block_id(0) * items + t, from = 0;
  sums[t] = i < n ? x[i] : 0.0f;
  __gpu_sync_threads();
  for (uint32_t step = 1; step < items; step *= 2) {
    uint32_t to = items - from;
    sums[to + t] = t >= step ? sums[from + t] + sums[from + t - step] : sums[from + t];
    from = to;
    __gpu_sync_threads();
  }
  if (i < n)
    y[i] = sums[from + t];
}

KDL_BLOCK(tile, tile)
__gpu_kernel void matmul(in a, in b, out c, uint32_t n) {
  KDL_LOCAL(float, rows[tile][tile]);
  KDL_LOCAL(float, columns[tile][tile]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1);
  uint32_t row = __gpu_block_id(1) * tile + y, column = __gpu_block_id(0) * tile + x;
  float sum = 0.0f;
  for (uint32_t k = 0; k < n; k += tile) {
    rows[y][x] = a[row * n + k + x];
    columns[y][x] = b[(k + y) * n + column];
    __gpu_sync_threads();
    for (uint32_t i = 0; i < tile; ++i)
      sum += rows[y][i] * columns[i][x];
    __gpu_sync_threads();
  }
  c[row * n + column] = sum;
}

KDL_BLOCK(tile, tile)
__gpu_kernel void transpose(in x, out y, uint32_t n) {
  KDL_LOCAL(float, square[tile][tile + 1]);
  uint32_t column = __gpu_thread_id(0), row = __gpu_thread_id(1);
  uint32_t left = __gpu_block_id(0) * tile, top = __gpu_block_id(1) * tile;
  square[row][column] = x[(top + row) * n + left + column];
  __gpu_sync_threads();
  y[(left + row) * n + top + column] = square[column][row];
}

KDL_BLOCK(items)
__gpu_kernel void histogram(const __gpu_global uint32_t *x, __gpu_global uint32_t *y, uint32_t n) {
  KDL_LOCAL(uint32_t, counts[bins]);
  uint32_t t = __gpu_thread_id(0), first = __gpu_block_id(0) * (items * per_item);
  for (uint32_t i = t; i < bins; i += items)
    counts[i] = 0;
  __gpu_sync_threads();
  for (uint32_t k = 0; k < per_item; ++k) {
    uint32_t i = first + k * items + t;
    if (i < n)
      kdl_atomic_add(&counts[x[i] % bins], 1);
  }
  __gpu_sync_threads();
  for (uint32_t i = t; i < bins; i += items)
    kdl_atomic_add(&y[i], counts[i]);
}

/* Sorts twice as many numbers as a group has work-items. */
KDL_BLOCK(items)
__gpu_kernel void sort(const __gpu_global uint32_t *x, __gpu_global uint32_t *y) {
  KDL_LOCAL(uint32_t, keys[2 * items]);
  uint32_t t = __gpu_thread_id(0), first = __gpu_block_id(0) * (2 * items);
  keys[t] = x[first + t];
  keys[t + items] = x[first + t + items];
  __gpu_sync_threads();
  for (uint32_t size = 2; size <= 2 * items; size *= 2) {
    for (uint32_t step = size / 2; step > 0; step /= 2) {
      uint32_t a = 2 * t - (t & (step - 1)), b = a + step;
      uint32_t left = keys[a], right = keys[b];
      if ((left > right) == ((a & size) == 0)) {
        keys[a] = right;
        keys[b] = left;
      }
      __gpu_sync_threads();
    }
  }
  y[first + t] = keys[t];
  y[first + t + items] = keys[t + items];
}

/* Five points, from a square with a halo. */
KDL_BLOCK(tile, tile)
__gpu_kernel void stencil(in x, out y, uint32_t n) {
  KDL_LOCAL(float, square[tile + 2][tile + 2]);
  uint32_t i = __gpu_thread_id(0), k = __gpu_thread_id(1);
  uint32_t column = __gpu_block_id(0) * tile + i, row = __gpu_block_id(1) * tile + k;
  square[k + 1][i + 1] = x[row * n + column];
  if (i == 0)
    square[k + 1][0] = column ? x[row * n + column - 1] : 0.0f;
  if (i == tile - 1)
    square[k + 1][tile + 1] = column + 1 < n ? x[row * n + column + 1] : 0.0f;
  if (k == 0)
    square[0][i + 1] = row ? x[(row - 1) * n + column] : 0.0f;
  if (k == tile - 1)
    square[tile + 1][i + 1] = row + 1 < n ? x[(row + 1) * n + column] : 0.0f;
  __gpu_sync_threads();
  y[row * n + column] = 0.2f * (square[k + 1][i + 1] + square[k][i + 1] + square[k + 2][i + 1] +
                                square[k + 1][i] + square[k + 1][i + 2]);
}
