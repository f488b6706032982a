/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Attention on NVIDIA's GPUs, O = softmax(scale * Q K^T) V, in one pass over K and V: the caller of
 * the microkernels of <kdl/gpu_mma_async.h>. One thread of a group copies Q, K and V; the other
 * subgroups have 16 queries each. Four of them, a warpgroup, multiply together.
 */
#include "copy.h"
#include "schedule.h"
#include "softmax.h"
#include "store.h"

enum {
  barrier_bytes = 256,
  q_stages = 2, /* of a tile, and of the next */
  most_head = 128,
  most_keys = 128,
  warpgroup_threads = 128,
  first_turn = 1, /* barriers of the hardware, one for each warpgroup */
};

/* The launch gives its size. */
extern __attribute__((aligned(kdl_gpu_mma_panel_align))) __gpu_local uint8_t group_memory[];

/* 1: warpgroups take turns in starting their products, so that one has its softmax while others
 * multiply. */
KDL_CONSTANT(int32_t, gpu_attention_turns, 1);

INLINE void init_barrier(uint32_t barrier, uint32_t arrivals) {
  __asm__ volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

INLINE kdl_gpu_ring ring_at(uint32_t *barriers, int32_t stages) {
  kdl_gpu_ring ring = {.full = *barriers, .stages = (uint32_t)stages};
  ring.empty = ring.full + 8 * ring.stages;
  *barriers += 16 * ring.stages;
  return ring;
}

INLINE void init_ring(const kdl_gpu_ring *ring, uint32_t subgroups) {
  for (uint32_t i = 0; i < ring->stages; ++i) {
    init_barrier(ring->full + 8 * i, 1);
    init_barrier(ring->empty + 8 * i, subgroups * kdl_gpu_ring_releases());
  }
}

/* Stages of Q, of K and of V, the results on their way out, barriers. */
INLINE memory memory_of(tiling t) {
  memory m;
  m.q_at = (uint32_t)(uintptr_t)group_memory;
  m.k_at = m.q_at + q_stages * matrix_bytes(t.rows, t.head);
  m.v_at = m.k_at + (uint32_t)t.stages * matrix_bytes(t.keys, t.head);
  m.o_at = m.v_at + (uint32_t)t.stages * matrix_bytes(t.keys, t.head);
  uint32_t barriers = m.o_at + matrix_bytes(t.rows, t.head);
  m.q = ring_at(&barriers, q_stages);
  m.k = ring_at(&barriers, t.stages);
  m.v = ring_at(&barriers, t.stages);
  m.numbers = ring_at(&barriers, 2);
  m.numbers_at = barriers;
  return m;
}

INLINE const element *in_group(uint32_t address) {
  return (const element *)(const void *)(const __gpu_local void *)(uintptr_t)address;
}

/* ------------------------------------------------------------------------------------------ */
/* Turns of warpgroups                                                                          */

INLINE void wait_for_turn(uint32_t warpgroup) {
  if (kdl_const_gpu_attention_turns)
    __asm__ volatile("bar.sync %0, %1;" ::"r"(first_turn + warpgroup), "r"(2 * warpgroup_threads)
                     : "memory");
}
INLINE void give_turn(uint32_t warpgroup) {
  if (kdl_const_gpu_attention_turns)
    __asm__ volatile("bar.arrive %0, %1;" ::"r"(first_turn + warpgroup), "r"(2 * warpgroup_threads)
                     : "memory");
}

/* ------------------------------------------------------------------------------------------ */
/* A tile                                                                                       */

/* S = Q K^T, started. */
INLINE void start_scores(tiling t, const memory *m, float *s, uint32_t subgroup) {
  microkernel(start)(in_group(m->q_at + m->q.stage * matrix_bytes(t.rows, t.head)), 0, 64 * t.rows,
                     in_group(m->k_at + m->k.stage * matrix_bytes(t.keys, t.head)), 0, 64 * t.keys,
                     s, 0, t.head / 16, t.keys / 8, t.subgroups, (int32_t)subgroup,
                     KDL_GPU_MMA_FROM_ZERO);
}
/* O += P V, started. */
INLINE void start_result(tiling t, const memory *m, const uint32_t *p, float *o) {
  microkernel(start_held)(p, in_group(m->v_at + m->v.stage * matrix_bytes(t.keys, t.head)), 0,
                          64 * t.keys, o, 0, t.keys / 16, t.head / 8, KDL_GPU_MMA_RHS_BY_K);
}

INLINE void release(kdl_gpu_ring *ring) {
  kdl_gpu_ring_release(ring, ring->stage);
  kdl_gpu_ring_next(ring);
}

/* The scores of a block, after those that its rows do not have are masked. */
INLINE void take_block(const kdl_grid_constant_attention *args, tiling t, work w, uint32_t block,
                       uint32_t subgroup, state *rows, float *s, float *scales) {
  const uint32_t first = block * (uint32_t)t.keys, end = first + (uint32_t)t.keys;
  const uint32_t row = w.row + subgroup / 4 * 64;
  if (keys_of(args, t, row) < end) {
    const uint32_t lane = __gpu_lane_id(), mine = w.row + subgroup * 16 + lane / 4;
    const int32_t before = (int32_t)(first + lane % 4 * 2);
    const int32_t limits[2] = {(int32_t)keys_of(args, t, mine) - before,
                               (int32_t)keys_of(args, t, mine + 8) - before};
    mask(s, limits, t.keys / 8);
  }
  add_block(rows, s, scales, args->scale, t.keys / 8);
}

/* How many blocks a warpgroup needs: not all, where its rows are before the tile's last ones. */
INLINE uint32_t blocks_of(const kdl_grid_constant_attention *args, tiling t, work w,
                          uint32_t warpgroup) {
  const uint32_t keys = keys_of(args, t, w.row + 64 * warpgroup + 63);
  const uint32_t blocks = divide_up(keys, (uint32_t)t.keys);
  return t.is_causal && blocks < w.blocks ? blocks : w.blocks;
}

/* Blocks of keys and of values that a warpgroup does not need. */
INLINE void skip_keys(memory *m, uint32_t count, uint32_t warpgroup, uint32_t next) {
#pragma clang loop unroll(disable)
  for (; count; --count) {
    kdl_gpu_ring_wait_full(&m->k);
    wait_for_turn(warpgroup);
    give_turn(next);
    release(&m->k);
  }
}
INLINE void skip_values(memory *m, uint32_t count) {
#pragma clang loop unroll(disable)
  for (; count; --count) {
    kdl_gpu_ring_wait_full(&m->v);
    release(&m->v);
  }
}

INLINE void start_rows(tiling t, float *o, state *rows) {
  *rows = (state){{NONE, NONE}, {0.0f, 0.0f}};
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < t.head / 2; ++i)
    o[i] = 0.0f;
}

/* The scores of a block are there: its keys have been read, and Q, if it was the last block. */
INLINE void release_keys(memory *m, uint32_t block) {
  release(&m->k);
  if (!block)
    release(&m->q);
}

/* Two products run at one time: while the scores of a block become exponentials, those of the block
 * before multiply V. This goes on from one tile to the next. */
INLINE void run_consumer(const kdl_grid_constant_attention *args, tiling t, memory m,
                         uint32_t subgroup) {
  const uint32_t count = work_count(args), staging = m.o_at + subgroup * matrix_bytes(16, t.head);
  const uint32_t warpgroup = subgroup / 4, last = (uint32_t)t.subgroups / 4 - 1;
  const uint32_t next = warpgroup < last ? warpgroup + 1 : 0;
  float o[most_head / 2], s[most_keys / 2], scales[2];
  uint32_t p[most_keys / 4];
  state rows;
  uint32_t number = take_number(&m);
  if (warpgroup == last)
    give_turn(0);
#pragma clang loop unroll(disable)
  while (number < count) {
    work w = work_of(args, t, number);
    uint32_t block = blocks_of(args, t, w, warpgroup);
    start_rows(t, o, &rows);
    skip_keys(&m, w.blocks - block, warpgroup, next);
    skip_values(&m, w.blocks - block);
    if (w.blocks)
      kdl_gpu_ring_wait_full(&m.q);
    if (!block) {
      if (w.blocks)
        release(&m.q);
      finish_rows(args, t, w, rows, o, subgroup);
      store_rows(args, t, w, o, staging, subgroup);
      number = take_number(&m);
      continue;
    }
    --block;
    kdl_gpu_ring_wait_full(&m.k);
    wait_for_turn(warpgroup);
    start_scores(t, &m, s, subgroup);
    give_turn(next);
    microkernel(wait)(s, t.keys / 8, 0);
    release_keys(&m, block);
    take_block(args, t, w, block, subgroup, &rows, s, scales);
    microkernel(hold)(s, p, t.keys / 8);
#pragma clang loop unroll(disable)
    for (;;) {
      if (block) { /* the next block of the tile */
        --block;
        kdl_gpu_ring_wait_full(&m.k);
        wait_for_turn(warpgroup);
        start_scores(t, &m, s, subgroup);
        kdl_gpu_ring_wait_full(&m.v);
        start_result(t, &m, p, o);
        give_turn(next);
        microkernel(wait)(s, t.keys / 8, 1);
        release_keys(&m, block);
        take_block(args, t, w, block, subgroup, &rows, s, scales);
        microkernel(wait)(o, t.head / 8, 0);
        release(&m.v);
#pragma clang loop unroll(full)
        for (int32_t i = 0; i < t.head / 2; ++i)
          o[i] *= scales[i / 2 % 2];
        microkernel(hold)(s, p, t.keys / 8);
        continue;
      }
      /* The first block of the next tile, with the last one of this tile. */
      number = take_number(&m);
      const work then = work_of(args, t, number < count ? number : 0);
      const uint32_t needed = number < count ? blocks_of(args, t, then, warpgroup) : 0;
      if (!needed)
        break;
      skip_keys(&m, then.blocks - needed, warpgroup, next);
      block = needed - 1;
      kdl_gpu_ring_wait_full(&m.q);
      kdl_gpu_ring_wait_full(&m.k);
      wait_for_turn(warpgroup);
      start_scores(t, &m, s, subgroup);
      kdl_gpu_ring_wait_full(&m.v);
      start_result(t, &m, p, o);
      give_turn(next);
      microkernel(wait)(s, t.keys / 8, 1);
      release_keys(&m, block);
      microkernel(wait)(o, t.head / 8, 0);
      release(&m.v);
      skip_values(&m, then.blocks - needed);
      finish_rows(args, t, w, rows, o, subgroup);
      store_rows(args, t, w, o, staging, subgroup);
      w = then;
      start_rows(t, o, &rows);
      take_block(args, t, w, block, subgroup, &rows, s, scales);
      microkernel(hold)(s, p, t.keys / 8);
    }
    kdl_gpu_ring_wait_full(&m.v);
    start_result(t, &m, p, o);
    microkernel(wait)(o, t.head / 8, 0);
    release(&m.v);
    finish_rows(args, t, w, rows, o, subgroup);
    store_rows(args, t, w, o, staging, subgroup);
  }
  if (warpgroup == 0) /* the turn that was given last */
    wait_for_turn(0);
  end_store();
}

INLINE void attention(const kdl_grid_constant_attention *args, int32_t head, int32_t is_causal) {
  const tiling t = tiling_of(head, is_causal);
  const uint32_t thread = __gpu_thread_id(0);
  /* The same in all lanes, so that branches on it are uniform. */
  const uint32_t subgroup =
      (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int)(thread / kdl_gpu_mma_lanes), 0, 31);
  memory m = memory_of(t);
  if (thread == 0) {
    init_ring(&m.q, (uint32_t)t.subgroups);
    init_ring(&m.k, (uint32_t)t.subgroups);
    init_ring(&m.v, (uint32_t)t.subgroups);
    init_ring(&m.numbers, (uint32_t)t.subgroups);
    __asm__ volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __gpu_sync_threads();
  if (subgroup < (uint32_t)t.producers) {
    microkernel(role)(head, KDL_GPU_MMA_COPIES);
    m.q.phase = m.k.phase = m.v.phase = m.numbers.phase = 1;
    if (thread == 0)
      run_producer(args, t, m);
    return;
  }
  microkernel(role)(head, KDL_GPU_MMA_MULTIPLIES);
  run_consumer(args, t, m, subgroup - (uint32_t)t.producers);
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

#define KERNEL(name, head, is_causal)                                                              \
  KDL_GROUP_ITEMS(name) {                                                                          \
    return (uint32_t)KDL_GPU_MMA_THREADS(microkernel(tile)(head));                                 \
  }                                                                                                \
  __gpu_kernel void name(kdl_grid_constant_attention args) {                                       \
    attention(&args, head, is_causal);                                                             \
  }
KERNEL(kdl_gpu_attention_bf16_64, 64, 0)
KERNEL(kdl_gpu_attention_bf16_64_causal, 64, 1)
KERNEL(kdl_gpu_attention_bf16_128, 128, 0)
KERNEL(kdl_gpu_attention_bf16_128_causal, 128, 1)

/* Writes what a launch must know of the linked microkernel, for heads of 64 and 128. */
__gpu_kernel void kdl_gpu_attention_bf16_tiles(__gpu_global attention_tile *tiles) {
  if (__gpu_thread_id(0) || __gpu_block_id(0))
    return;
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < ATTENTION_HEADS; ++i) {
    const int32_t head = 64 << i;
    const tiling t = tiling_of(head, 0);
    tiles[i].rows = (uint32_t)t.rows;
    tiles[i].keys = (uint32_t)t.keys;
    tiles[i].threads = (uint32_t)KDL_GPU_MMA_THREADS(microkernel(tile)(head));
    tiles[i].group_bytes = (q_stages + 1) * matrix_bytes(t.rows, head) +
                           microkernel(group_bytes)(head) + barrier_bytes;
  }
}
