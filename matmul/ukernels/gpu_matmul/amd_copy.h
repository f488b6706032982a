/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Operands on their way into a stage: loaded into registers while the stage before is multiplied,
 * and stored into group memory afterwards. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_AMD_COPY_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_AMD_COPY_H

#include "schedule.h"

enum {
  chunk_bytes = 16,
  chunk_values = chunk_bytes / sizeof(element),
  row_chunks = kdl_gpu_mma_panel_bytes / chunk_bytes,
  most_held = 8, /* chunks of a thread, of one operand */
};

/* Where the launch has an operand, and how much of it there is. */
typedef struct {
  const __gpu_global element *values; /* of the batch */
  int64_t row_stride, k_stride;
  uint32_t rows, depth; /* of the whole matrix */
  uint32_t has_chunks;  /* 16 bytes at multiples of 16 are wholly in the matrix, or outside */
} operand;

INLINE operand operand_of(const gpu_matrix *matrix, uint32_t batch, uint32_t rows, uint32_t depth,
                          int32_t is_by_k) {
  const int64_t along = is_by_k ? matrix->outer : matrix->inner;
  const int64_t across = is_by_k ? matrix->inner : matrix->outer;
  const uint64_t distances = (uint64_t)across | (uint64_t)matrix->batch;
  operand found = {
      .values = (const __gpu_global element *)matrix->address + batch * matrix->batch,
      .row_stride = matrix->outer,
      .k_stride = matrix->inner,
      .rows = rows,
      .depth = depth,
  };
  found.has_chunks = along == 1 &&
                     (matrix->address | distances * sizeof(element)) % chunk_bytes == 0 &&
                     (is_by_k ? rows : depth) % chunk_values == 0;
  return found;
}

/* Which chunk of a panel a thread has as its i-th: all of them have the same k. By K, chunks of two
 * neighbouring k are i and i + 1, so that pairs of values along K can be stored; every second one
 * has the same k. */
typedef struct {
  uint32_t row, k; /* of the panel, in values */
} spot;

INLINE spot spot_of(uint32_t thread, uint32_t threads, uint32_t i, int32_t is_by_k) {
  if (is_by_k) {
    const uint32_t unit = thread + i / 2 * threads, pairs = kdl_gpu_mma_panel_bytes / 4;
    return (spot){(unit % 4 + unit / (4 * pairs) * 4) * chunk_values, unit / 4 % pairs * 2 + i % 2};
  }
  const uint32_t at = thread + i * threads;
  return (spot){at / row_chunks, at % row_chunks * chunk_values};
}

INLINE __gpu_local uint8_t *in_panel(__gpu_local uint8_t *panel, uint32_t row, uint32_t byte) {
  return panel + row * kdl_gpu_mma_panel_bytes + chunk_bytes * ((byte / chunk_bytes) ^ (row % 8)) +
         byte % chunk_bytes;
}

/* The chunks of a panel: zeros after the end of K. After the last row, that row again: what is
 * computed from it is not stored. */
INLINE void load_panel(chunk *held, const operand *from, uint32_t row, uint32_t k, uint32_t rows,
                       uint32_t thread, uint32_t threads, int32_t is_by_k) {
  const uint32_t last = from->rows - (is_by_k ? chunk_values : 1), pair = is_by_k ? 2 : 1;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < most_held; ++i)
    held[i] = (chunk){0};
#pragma clang loop unroll(full)
  for (uint32_t first = 0; first < pair; ++first) {
    const uint32_t at_k = k + spot_of(thread, threads, first, is_by_k).k;
    if (at_k >= from->depth)
      continue;
    const __gpu_global element *values = from->values + (int64_t)at_k * from->k_stride;
#pragma clang loop unroll(full)
    for (uint32_t i = first; i < rows * row_chunks / threads; i += pair) {
      const uint32_t wanted = row + spot_of(thread, threads, i, is_by_k).row;
      const uint32_t at_row = wanted < last ? wanted : last;
      held[i] = *(const __gpu_global chunk *)(values + (int64_t)at_row * from->row_stride);
    }
  }
}

INLINE void store_panel(__gpu_local uint8_t *panel, const chunk *held, uint32_t rows,
                        uint32_t thread, uint32_t threads, int32_t is_by_k) {
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < rows * row_chunks / threads; i += is_by_k ? 2 : 1) {
    const spot at = spot_of(thread, threads, i, is_by_k);
    if (!is_by_k) {
      *(__gpu_local chunk *)in_panel(panel, at.row, at.k * (uint32_t)sizeof(element)) = held[i];
      continue;
    }
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < chunk_values; ++j) /* values of 2 bytes: k, and k + 1 above it */
      *(__gpu_local uint32_t *)in_panel(panel, at.row + j, at.k * 2) = __builtin_amdgcn_perm(
          held[i + 1][j / 2], held[i][j / 2], j % 2 ? 0x07060302 : 0x05040100);
  }
}

/* A panel of any strides, word by word. Neighbouring threads take neighbours in memory. */
INLINE void copy_panel(__gpu_local uint8_t *panel, const operand *from, uint32_t row, uint32_t k,
                       uint32_t rows, uint32_t thread, uint32_t threads) {
  enum {
    words = kdl_gpu_mma_panel_bytes / 4,
    word_values = 4 / sizeof(element),
    bits = 32 / word_values
  };
  const uint32_t is_along_rows = from->row_stride == 1;
#pragma clang loop unroll(disable)
  for (uint32_t i = thread; i < rows * words; i += threads) {
    const uint32_t r = is_along_rows ? i % rows : i / words;
    const uint32_t w = is_along_rows ? i / rows : i % words;
    const uint32_t at_row = row + r, at_k = k + w * word_values;
    uint32_t word = 0;
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < word_values; ++j) {
      const int64_t at = (int64_t)at_row * from->row_stride + (int64_t)(at_k + j) * from->k_stride;
      if (at_row < from->rows && at_k + j < from->depth)
        word |= ((uint32_t)from->values[at] & (0xffffffffu >> (32 - bits))) << (bits * j);
    }
    *(__gpu_local uint32_t *)in_panel(panel, r, 4 * w) = word;
  }
}

/* What a thread holds of the next stage. */
typedef struct {
  chunk lhs[most_held], rhs[most_held];
} stage_part;

INLINE void load_stage(stage_part *held, const operand *lhs, const operand *rhs, const work *w,
                       tiling t, uint32_t k, uint32_t thread, uint32_t threads, int32_t layout) {
  if (lhs->has_chunks)
    load_panel(held->lhs, lhs, w->row, k, (uint32_t)t.rows, thread, threads,
               layout & KDL_GPU_MMA_LHS_BY_K);
  if (rhs->has_chunks)
    load_panel(held->rhs, rhs, w->column, k, (uint32_t)t.columns, thread, threads,
               layout & KDL_GPU_MMA_RHS_BY_K);
}

INLINE void store_stage(__gpu_local uint8_t *stage, const stage_part *held, const operand *lhs,
                        const operand *rhs, const work *w, tiling t, uint32_t k, uint32_t thread,
                        uint32_t threads, int32_t layout) {
  __gpu_local uint8_t *rhs_panel = stage + t.rows * kdl_gpu_mma_panel_bytes;
  if (lhs->has_chunks)
    store_panel(stage, held->lhs, (uint32_t)t.rows, thread, threads, layout & KDL_GPU_MMA_LHS_BY_K);
  else
    copy_panel(stage, lhs, w->row, k, (uint32_t)t.rows, thread, threads);
  if (rhs->has_chunks)
    store_panel(rhs_panel, held->rhs, (uint32_t)t.columns, thread, threads,
                layout & KDL_GPU_MMA_RHS_BY_K);
  else
    copy_panel(rhs_panel, rhs, w->column, k, (uint32_t)t.columns, thread, threads);
}

#endif
