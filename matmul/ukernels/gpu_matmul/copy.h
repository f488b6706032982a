/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The producers: fill the stages of the ring, by bulk copies, by asynchronous copies of 16 bytes,
 * or by loads and stores. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_COPY_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_COPY_H

#include "schedule.h"

INLINE void copy_bulk(uint32_t to, const gpu_tensor_map *map, uint32_t barrier, uint32_t c0,
                      uint32_t c1, uint32_t batch) {
  __asm__ volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4, %5}], [%2];" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(batch)
      : "memory");
}

/* An operand by bulk copies: one box, or one for every 64 rows if it lies by K. */
INLINE void copy_operand_bulk(uint32_t to, const gpu_tensor_map *map, uint32_t barrier,
                              uint32_t row, uint32_t k, uint32_t batch, int32_t rows,
                              int32_t is_by_k) {
  if (!is_by_k) {
    copy_bulk(to, map, barrier, k, row, batch);
    return;
  }
#pragma clang loop unroll(full)
  for (int32_t block = 0; block < rows / 64; ++block)
    copy_bulk(to + (uint32_t)block * 64 * kdl_gpu_mma_panel_bytes, map, barrier,
              row + 64 * (uint32_t)block, k, batch);
}

/* Where the launch has an operand, and how much of it there is. */
typedef struct {
  const __gpu_global element *values; /* of the batch */
  int64_t row_stride, k_stride;
  uint32_t rows, depth; /* of the whole matrix */
} operand;

/* Values that follow each other along K, or along rows if they lie by K, as one word; zeros
 * outside of the matrix. */
INLINE uint32_t load_word(const operand *from, uint32_t row, uint32_t k, int32_t is_by_k) {
  enum { count = sizeof(uint32_t) / sizeof(element) };
  const __gpu_global element *at =
      from->values + (int64_t)row * from->row_stride + (int64_t)k * from->k_stride;
  const int64_t step = is_by_k ? from->row_stride : from->k_stride;
  const uint32_t first = is_by_k ? row : k, limit = is_by_k ? from->rows : from->depth;
  const int is_there = is_by_k ? k < from->depth : row < from->rows;
  element values[count];
  uint32_t word;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < count; ++i)
    values[i] = is_there && first + i < limit ? at[(int64_t)i * step] : 0;
  __builtin_memcpy(&word, values, sizeof word);
  return word;
}

/* A panel by loads and stores of the producers' threads: any strides. Neighbouring threads take
 * neighbours in memory: along K, or along rows if these are closer. */
INLINE void copy_operand(__gpu_local uint8_t *to, const operand *from, uint32_t row, uint32_t k,
                         uint32_t rows, uint32_t thread, uint32_t threads, int32_t is_by_k) {
  const uint32_t words = kdl_gpu_mma_panel_bytes / 4, word_values = 4 / sizeof(element);
#pragma clang loop unroll(disable)
  for (uint32_t i = thread; i < rows * words; i += threads) {
    const uint32_t is_along_rows = opaque(from->row_stride == 1 && !is_by_k);
    const uint32_t r = is_along_rows ? i % rows : i / words; /* of the panel */
    const uint32_t w = is_along_rows ? i / rows : i % words;
    const uint32_t at_row = is_by_k ? r / 64 * 64 + w * word_values : r;
    const uint32_t at_k = is_by_k ? r % 64 : w * word_values;
    const uint32_t byte = 16 * ((w / 4) ^ (r % 8)) + 4 * (w % 4);
    *(__gpu_local uint32_t *)(to + r * kdl_gpu_mma_panel_bytes + byte) =
        load_word(from, row + at_row, k + at_k, is_by_k);
  }
}

enum { chunk_bytes = 16, chunk_values = chunk_bytes / sizeof(element) };

/* 16 bytes, of which those after `bytes` are zeros. */
INLINE void copy_chunk_async(uint32_t to, const __gpu_global element *from, uint32_t bytes) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                   : "memory");
}

INLINE void copy_whole_chunk_async(uint32_t to, const __gpu_global element *from) {
  __asm__ volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from)
                   : "memory");
}

/* How many of the 16 bytes from `at` on are in a line of `count` values. */
INLINE uint32_t bytes_in_line(uint32_t at, uint32_t count) {
  const uint32_t left = at < count ? count - at : 0;
  return left < chunk_values ? left * (uint32_t)sizeof(element) : chunk_bytes;
}

/* Whether chunks of an operand are 16 bytes at multiples of 16. */
INLINE int has_whole_chunks(const gpu_matrix *matrix, int32_t is_by_k) {
  const int64_t along = is_by_k ? matrix->outer : matrix->inner;
  const int64_t across = is_by_k ? matrix->inner : matrix->outer;
  const uint64_t distances = (uint64_t)across | (uint64_t)matrix->batch;
  return along == 1 && (matrix->address | distances * sizeof(element)) % chunk_bytes == 0;
}

/* A panel by asynchronous copies, 8 threads for each line: of a row along K, or of a k along rows.
 * A thread's lines are a multiple of 8 apart, so that it has one place in all of them. */
INLINE void copy_operand_async(uint32_t to, const operand *from, uint32_t row, uint32_t k,
                               uint32_t rows, uint32_t thread, uint32_t threads, int32_t is_by_k) {
  const uint32_t chunks = kdl_gpu_mma_panel_bytes / chunk_bytes, lines = threads / chunks;
  const uint32_t c = thread % chunks, first = thread / chunks;
  const uint32_t blocks = is_by_k ? rows / 64 : 1, block_lines = is_by_k ? 64 : rows;
  const uint32_t depth = kdl_gpu_mma_panel_bytes / sizeof(element);
  const int is_within = row + rows <= from->rows && k + depth <= from->depth;
  to += first * kdl_gpu_mma_panel_bytes + chunk_bytes * (c ^ (first % 8));
#pragma clang loop unroll(disable)
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t along = is_by_k ? row + 64 * block + c * chunk_values : k + c * chunk_values;
    const uint32_t bytes = bytes_in_line(along, is_by_k ? from->rows : from->depth);
    const uint32_t across = (is_by_k ? k : row) + first, end = is_by_k ? from->depth : from->rows;
    const int64_t distance = is_by_k ? from->k_stride : from->row_stride;
    const __gpu_global element *at = from->values + along + (int64_t)across * distance;
    if (is_within) {
#pragma clang loop unroll(full)
      for (uint32_t i = 0; i < block_lines / lines; ++i) {
        copy_whole_chunk_async(to + i * lines * kdl_gpu_mma_panel_bytes, at);
        at += (int64_t)lines * distance;
      }
    } else {
#pragma clang loop unroll(disable)
      for (uint32_t i = 0; i < block_lines / lines; ++i) {
        copy_chunk_async(to + i * lines * kdl_gpu_mma_panel_bytes, at,
                         across + i * lines < end ? bytes : 0);
        at += (int64_t)lines * distance;
      }
    }
    to += block_lines * kdl_gpu_mma_panel_bytes;
  }
}

/* A stage where there are no bulk copies. Each thread arrives once; where all its copies are
 * asynchronous, it does so when they are done, and does not wait. */
INLINE void copy_stage(__gpu_local uint8_t *stage, uint32_t barrier, const operand *lhs,
                       const operand *rhs, int lhs_async, int rhs_async, const work *w, tiling t,
                       uint32_t k, uint32_t thread, uint32_t threads, int32_t layout) {
  const int32_t lhs_by_k = layout & KDL_GPU_MMA_LHS_BY_K, rhs_by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const uint32_t lhs_bytes = (uint32_t)t.rows * kdl_gpu_mma_panel_bytes;
  const uint32_t to = (uint32_t)(uintptr_t)stage;
  if (lhs_async)
    copy_operand_async(to, lhs, w->row, k, (uint32_t)t.rows, thread, threads, lhs_by_k);
  else
    copy_operand(stage, lhs, w->row, k, (uint32_t)t.rows, thread, threads, lhs_by_k);
  if (rhs_async)
    copy_operand_async(to + lhs_bytes, rhs, w->column, k, (uint32_t)t.columns, thread, threads,
                       rhs_by_k);
  else
    copy_operand(stage + lhs_bytes, rhs, w->column, k, (uint32_t)t.columns, thread, threads,
                 rhs_by_k);
  if (lhs_async && rhs_async)
    __asm__ volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
  else
    __asm__ volatile("cp.async.wait_all;\n\tmbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier)
                     : "memory");
}

/* Whether bulk copies alone fill the stages: one thread begins them. */
INLINE int has_bulk_alone(const kdl_grid_constant_matmul *args, tiling t) {
  const uint32_t bulk = GPU_LHS_BULK | GPU_RHS_BULK;
  return t.is_plain || (t.is_bulk && (args->flags & bulk) == bulk);
}

/* How many threads arrive at a barrier of a full stage. */
INLINE uint32_t full_arrivals(const kdl_grid_constant_matmul *args, tiling t) {
  const int is_one = kdl_const_gpu_every_lane_arrives ? has_bulk_alone(args, t) : t.is_bulk;
  return is_one ? 1 : kdl_gpu_mma_lanes * (uint32_t)t.producers;
}

/* The work of the subgroups that copy: the stages of all tiles of the group, in order. With bulk
 * copies alone, one thread does it. */
INLINE void run_producers(const kdl_grid_constant_matmul *args, tiling t, kdl_gpu_ring ring,
                          __gpu_local uint8_t *stages, uint32_t thread, int32_t layout) {
  const uint32_t threads = kdl_gpu_mma_lanes * (uint32_t)t.producers;
  const uint32_t bulk = GPU_LHS_BULK | GPU_RHS_BULK;
  const int is_bulk = has_bulk_alone(args, t);
  const uint32_t lhs_bytes = (uint32_t)t.rows * kdl_gpu_mma_panel_bytes;
  const uint32_t rhs_bytes = (uint32_t)t.columns * kdl_gpu_mma_panel_bytes;
  const int lhs_async =
      threads % 64 == 0 && has_whole_chunks(&args->lhs, layout & KDL_GPU_MMA_LHS_BY_K);
  const int rhs_async =
      threads % 64 == 0 && has_whole_chunks(&args->rhs, layout & KDL_GPU_MMA_RHS_BY_K);
  if (is_bulk && thread)
    return;
  for (uint32_t number = first_work(); number < t.work; number += work_step()) {
    work w = work_of(args, t, number);
    operand lhs = {(const __gpu_global element *)args->lhs.address + w.batch * args->lhs.batch,
                   args->lhs.outer, args->lhs.inner, args->m, args->k};
    operand rhs = {(const __gpu_global element *)args->rhs.address + w.batch * args->rhs.batch,
                   args->rhs.outer, args->rhs.inner, args->n, args->k};
#pragma clang loop unroll(disable)
    for (uint32_t step = w.first_step; step < w.last_step; ++step) {
      const uint32_t k = step * (uint32_t)t.depth;
      const uint32_t flags = t.is_plain ? bulk : opaque(args->flags);
      const int lhs_bulk = t.is_bulk && (flags & GPU_LHS_BULK);
      const int rhs_bulk = t.is_bulk && (flags & GPU_RHS_BULK);
      const uint32_t bulk_bytes = kdl_gpu_mma_panel_bytes * ((lhs_bulk ? args->lhs_lines : 0) +
                                                             (rhs_bulk ? args->rhs_lines : 0));
      __gpu_local uint8_t *stage = stages + ring.stage * (lhs_bytes + rhs_bytes);
      const uint32_t barrier = ring.full + 8 * ring.stage;
      kdl_gpu_ring_wait_empty(&ring);
      if (!t.is_bulk) {
        copy_stage(stage, barrier, &lhs, &rhs, lhs_async, rhs_async, &w, t, k, thread, threads,
                   layout);
        kdl_gpu_ring_next(&ring);
        continue;
      }
      if (!lhs_bulk)
        copy_operand(stage, &lhs, w.row, k, (uint32_t)t.rows, thread, threads,
                     layout & KDL_GPU_MMA_LHS_BY_K);
      if (!rhs_bulk)
        copy_operand(stage + lhs_bytes, &rhs, w.column, k, (uint32_t)t.columns, thread, threads,
                     layout & KDL_GPU_MMA_RHS_BY_K);
      if (!is_bulk) { /* written by all, then one arrives */
        __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __asm__ volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
      }
      if (thread == 0) {
        __asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "r"(bulk_bytes)
                         : "memory");
        const uint32_t to = (uint32_t)(uintptr_t)stage;
        if (lhs_bulk)
          copy_operand_bulk(to, &args->lhs_map, barrier, w.row, k, w.batch, t.rows,
                            layout & KDL_GPU_MMA_LHS_BY_K);
        if (rhs_bulk)
          copy_operand_bulk(to + lhs_bytes, &args->rhs_map, barrier, w.column, k, w.batch,
                            t.columns, layout & KDL_GPU_MMA_RHS_BY_K);
      } else if (kdl_const_gpu_every_lane_arrives) {
        __asm__ volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
      }
      kdl_gpu_ring_next(&ring);
    }
  }
  if (!t.is_bulk)
    __asm__ volatile("cp.async.wait_all;" ::: "memory");
}

#endif
