/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * c = a b, compiled once per variant. On a CPU a group does ROWS x COLUMNS of c by tiles of TM x TN
 * that are kept in registers; on a GPU a group brings BK steps of BM rows and BN columns into its
 * memory, and each work-item keeps TM x TN sums.
 */
#include <kdl/kernel.h>

#ifndef ELEMENT
#define ELEMENT float
#endif

#if KDL_HOST
#ifndef TM
#define TM 4
#define TN 16
#define ROWS 64
#define COLUMNS 64
#endif

typedef struct {
  const ELEMENT *a, *b;
  float *c;
  uint32_t n, k;
} operands;

static inline void whole_tile(const operands *of, uint64_t row, uint64_t column) {
  _Alignas(64) float sums[TM][TN] = {{0}};
  for (uint64_t i = 0; i < of->k; ++i)
    for (int r = 0; r < TM; ++r)
      for (int j = 0; j < TN; ++j)
        sums[r][j] += (float)of->a[(row + (uint64_t)r) * of->k + i] *
                      (float)of->b[i * of->n + column + (uint64_t)j];
  for (int r = 0; r < TM; ++r)
    for (int j = 0; j < TN; ++j)
      of->c[(row + (uint64_t)r) * of->n + column + (uint64_t)j] = sums[r][j];
}

static inline void part_tile(const operands *of, uint64_t row, uint64_t rows, uint64_t column,
                             uint64_t columns) {
  for (uint64_t r = 0; r < rows; ++r) {
    _Alignas(64) float sums[TN] = {0};
    for (uint64_t i = 0; i < of->k; ++i)
      for (uint64_t j = 0; j < columns; ++j)
        sums[j] += (float)of->a[(row + r) * of->k + i] * (float)of->b[i * of->n + column + j];
    for (uint64_t j = 0; j < columns; ++j)
      of->c[(row + r) * of->n + column + j] = sums[j];
  }
}

KDL_KERNEL(matmul, (1, 1, 1), (COLUMNS, ROWS, 1), (const ELEMENT *, a), (const ELEMENT *, b),
           (float *, c), (uint32_t, m), (uint32_t, n), (uint32_t, k)) {
  const operands of = {a, b, c, n, k};
  uint64_t right = kdl_group_end(kdl_group, 0, n), bottom = kdl_group_end(kdl_group, 1, m);
  for (uint64_t row = kdl_group_begin(kdl_group, 1); row < bottom; row += TM)
    for (uint64_t column = kdl_group_begin(kdl_group, 0); column < right; column += TN) {
      if (row + TM <= bottom && column + TN <= right)
        whole_tile(&of, row, column);
      else
        part_tile(&of, row, bottom - row < TM ? bottom - row : TM, column,
                  right - column < TN ? right - column : TN);
    }
}

#else
#ifndef BM
#define BM 32
#define BN 32
#define BK 16
#define TM 2
#define TN 2
#endif
enum { wide = BN / TN, high = BM / TM, threads = wide * high };

KDL_BLOCK(wide, high)
KDL_TILE(BN, BM)
__gpu_kernel void matmul(const __gpu_global ELEMENT *a, const __gpu_global ELEMENT *b,
                         __gpu_global float *c, uint32_t m, uint32_t n, uint32_t k) {
  KDL_LOCAL(float, left[BK][BM + 1]);
  KDL_LOCAL(float, right[BK][BN + 1]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1), id = y * wide + x;
  uint32_t column = __gpu_block_id(0) * BN, row = __gpu_block_id(1) * BM;
  float sums[TM][TN] = {{0}};
  for (uint32_t start = 0; start < k; start += BK) {
    for (uint32_t i = id; i < BM * BK; i += threads) {
      uint32_t r = i / BK, d = i % BK;
      left[d][r] = row + r < m && start + d < k ? (float)a[(uint64_t)(row + r) * k + start + d] : 0;
    }
    for (uint32_t i = id; i < BN * BK; i += threads) {
      uint32_t d = i / BN, j = i % BN;
      right[d][j] =
          column + j < n && start + d < k ? (float)b[(uint64_t)(start + d) * n + column + j] : 0;
    }
    __gpu_sync_threads();
    for (uint32_t d = 0; d < BK; ++d)
      for (uint32_t r = 0; r < TM; ++r)
        for (uint32_t j = 0; j < TN; ++j)
          sums[r][j] += left[d][r * high + y] * right[d][j * wide + x];
    __gpu_sync_threads();
  }
  for (uint32_t r = 0; r < TM; ++r)
    for (uint32_t j = 0; j < TN; ++j)
      if (row + r * high + y < m && column + j * wide + x < n)
        c[(uint64_t)(row + r * high + y) * n + column + j * wide + x] = sums[r][j];
}
#endif
