/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The producer: fills the stages of Q, K and V by bulk copies of tensors. */
#ifndef KDL_MATMUL_UKERNELS_GPU_ATTENTION_COPY_H
#define KDL_MATMUL_UKERNELS_GPU_ATTENTION_COPY_H

#include "schedule.h"

/* The rings of a group, and where their stages are in group memory: Q, K, V, and the numbers of
 * tiles. */
typedef struct {
  kdl_gpu_ring q, k, v, numbers;
  uint32_t q_at, k_at, v_at, o_at, numbers_at;
} memory;

INLINE uint32_t matrix_bytes(int32_t rows, int32_t head) {
  return (uint32_t)(rows * head) * (uint32_t)sizeof(element);
}

/* Rows of one head into the next stage: a box for every 128 bytes of them. Rows after the last one
 * are zeros. */
INLINE void fill_stage(kdl_gpu_ring *ring, uint32_t first, const gpu_tensor_map *map, int32_t rows,
                       int32_t head, uint32_t row, uint32_t number, uint32_t batch) {
  const uint32_t bytes = matrix_bytes(rows, head), barrier = ring->full + 8 * ring->stage;
  const uint32_t to = first + ring->stage * bytes;
  kdl_gpu_ring_wait_empty(ring);
  __asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                   "r"(bytes)
                   : "memory");
#pragma clang loop unroll(full)
  for (int32_t block = 0; block < head / 64; ++block)
    __asm__ volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%3, %4, %5, %6}], [%2];" ::"r"(to + (uint32_t)(block * rows) * kdl_gpu_mma_panel_bytes),
        "l"(map), "r"(barrier), "r"(64 * block), "r"(row), "r"(number), "r"(batch)
        : "memory");
  kdl_gpu_ring_next(ring);
}

/* Gives the number of a tile to all subgroups that multiply, and takes one. */
INLINE void give_number(memory *m, uint32_t number) {
  kdl_gpu_ring_wait_empty(&m->numbers);
  __asm__ volatile("st.shared.u32 [%0], %1;\n\tmbarrier.arrive.shared.b64 _, [%2];" ::"r"(
                       m->numbers_at + 4 * m->numbers.stage),
                   "r"(number), "r"(m->numbers.full + 8 * m->numbers.stage)
                   : "memory");
  kdl_gpu_ring_next(&m->numbers);
}
INLINE uint32_t take_number(memory *m) {
  uint32_t number;
  kdl_gpu_ring_wait_full(&m->numbers);
  __asm__ volatile("ld.shared.u32 %0, [%1];"
                   : "=r"(number)
                   : "r"(m->numbers_at + 4 * m->numbers.stage)
                   : "memory");
  __gpu_sync_lane(~(uint64_t)0);
  kdl_gpu_ring_release(&m->numbers, m->numbers.stage);
  kdl_gpu_ring_next(&m->numbers);
  return (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int)number, 0, 31); /* branches are uniform */
}

/* Keys of a block are needed before the values of the block before. */
INLINE void run_producer(const kdl_grid_constant_attention *args, tiling t, memory m) {
  const uint32_t count = work_count(args);
  uint32_t number = next_number(args, 0);
#pragma clang loop unroll(disable)
  for (uint32_t turn = 1; number < count; ++turn) {
    const work w = work_of(args, t, number);
    const uint32_t head = w.head / args->heads_of_keys;
    give_number(&m, number);
    number = next_number(args, turn); /* early: it takes a while */
    if (!w.blocks)
      continue;
    fill_stage(&m.q, m.q_at, &args->q_map, t.rows, t.head, w.row, w.head, w.batch);
#pragma clang loop unroll(disable)
    for (uint32_t left = w.blocks; left + 1; --left) {
      if (left)
        fill_stage(&m.k, m.k_at, &args->k_map, t.keys, t.head, (left - 1) * (uint32_t)t.keys, head,
                   w.batch);
      if (left < w.blocks)
        fill_stage(&m.v, m.v_at, &args->v_map, t.keys, t.head, left * (uint32_t)t.keys, head,
                   w.batch);
    }
  }
  give_number(&m, count);
}

#endif
