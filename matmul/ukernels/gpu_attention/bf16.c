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
/* The products of a warpgroup                                                                  */

/* A subgroup that multiplies. */
typedef struct {
  const kdl_grid_constant_attention *args;
  tiling t;
  memory m;
  uint32_t subgroup, warpgroup, next; /* next: the warpgroup that has its turn after this one */
  work w;
  uint32_t block; /* of the tile's keys: they go from the last to the first */
} consumer;

/* What it computes with. Apart from the constants above: only once they are known can the compiler
 * unroll the loops over these. */
typedef struct {
  float s[most_keys / 2]; /* scores, and their exponentials */
  uint32_t p[most_keys / 4];
  float o[most_head / 2];
  state rows;
} registers;

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

INLINE void release(kdl_gpu_ring *ring) {
  kdl_gpu_ring_release(ring, ring->stage);
  kdl_gpu_ring_next(ring);
}

/* S = Q K^T, when it is the warpgroup's turn. */
INLINE void start_scores(consumer *c, registers *r) {
  const tiling t = c->t;
  const uint32_t q = c->m.q_at + c->m.q.stage * matrix_bytes(t.rows, t.head);
  const uint32_t k = c->m.k_at + c->m.k.stage * matrix_bytes(t.keys, t.head);
  kdl_gpu_ring_wait_full(&c->m.k);
  wait_for_turn(c->warpgroup);
  microkernel(start)(in_group(q), 0, 64 * t.rows, in_group(k), 0, 64 * t.keys, r->s, 0, t.head / 16,
                     t.keys / 8, t.subgroups, (int32_t)c->subgroup, KDL_GPU_MMA_FROM_ZERO);
}
/* O += P V. */
INLINE void start_result(consumer *c, registers *r) {
  const tiling t = c->t;
  const uint32_t v = c->m.v_at + c->m.v.stage * matrix_bytes(t.keys, t.head);
  kdl_gpu_ring_wait_full(&c->m.v);
  microkernel(start_held)(r->p, in_group(v), 0, 64 * t.keys, r->o, 0, t.keys / 16, t.head / 8,
                          KDL_GPU_MMA_RHS_BY_K);
}
INLINE void wait_for_scores(consumer *c, registers *r, int32_t pending) {
  microkernel(wait)(r->s, c->t.keys / 8, pending);
  release(&c->m.k);
}
INLINE void wait_for_result(consumer *c, registers *r) {
  microkernel(wait)(r->o, c->t.head / 8, 0);
  release(&c->m.v);
}

/* The scores of the next block, while the exponentials of the one before multiply V. */
INLINE void start_both(consumer *c, registers *r) {
  start_scores(c, r);
  start_result(c, r);
  give_turn(c->next);
  wait_for_scores(c, r, 1);
}

/* Exponentials of the scores, after those of keys that rows do not have are masked. */
INLINE void take_scores(consumer *c, registers *r, float *scales) {
  const tiling t = c->t;
  const uint32_t first = c->block * (uint32_t)t.keys, end = first + (uint32_t)t.keys;
  if (keys_of(c->args, t, c->w.row + 64 * c->warpgroup) < end) {
    const uint32_t lane = __gpu_lane_id(), row = c->w.row + 16 * c->subgroup + lane / 4;
    const int32_t before = (int32_t)(first + lane % 4 * 2);
    const int32_t limits[2] = {(int32_t)keys_of(c->args, t, row) - before,
                               (int32_t)keys_of(c->args, t, row + 8) - before};
    mask(r->s, limits, t.keys / 8);
  }
  add_block(&r->rows, r->s, scales, c->args->scale, t.keys / 8);
}

INLINE void hold_exponentials(consumer *c, registers *r) {
  microkernel(hold)(r->s, r->p, c->t.keys / 8);
}

/* ------------------------------------------------------------------------------------------ */
/* Tiles                                                                                        */

/* How many blocks a warpgroup needs: not all, where its rows are before the tile's last ones. */
INLINE uint32_t blocks_of(const consumer *c, work w) {
  const uint32_t keys = keys_of(c->args, c->t, w.row + 64 * c->warpgroup + 63);
  const uint32_t blocks = divide_up(keys, (uint32_t)c->t.keys);
  return c->t.is_causal && blocks < w.blocks ? blocks : w.blocks;
}

/* Blocks of keys and of values that a warpgroup does not need. */
INLINE void skip_keys(consumer *c, uint32_t count) {
#pragma clang loop unroll(disable)
  for (; count; --count) {
    kdl_gpu_ring_wait_full(&c->m.k);
    wait_for_turn(c->warpgroup);
    give_turn(c->next);
    release(&c->m.k);
  }
}
INLINE void skip_values(consumer *c, uint32_t count) {
#pragma clang loop unroll(disable)
  for (; count; --count) {
    kdl_gpu_ring_wait_full(&c->m.v);
    release(&c->m.v);
  }
}

INLINE void start_rows(consumer *c, registers *r) {
  r->rows = (state){{NONE, NONE}, {0.0f, 0.0f}};
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < c->t.head / 2; ++i)
    r->o[i] = 0.0f;
}

INLINE void store_result(consumer *c, registers *r) {
  const uint32_t staging = c->m.o_at + c->subgroup * matrix_bytes(16, c->t.head);
  finish_rows(c->args, c->t, c->w, r->rows, r->o, c->subgroup);
  store_rows(c->args, c->t, c->w, r->o, staging, c->subgroup);
}

/* All blocks of the tile but the first that was taken. */
INLINE void take_blocks(consumer *c, registers *r) {
#pragma clang loop unroll(disable)
  while (c->block) {
    float scales[2];
    --c->block;
    start_both(c, r);
    take_scores(c, r, scales);
    wait_for_result(c, r);
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < c->t.head / 2; ++i)
      r->o[i] *= scales[i / 2 % 2];
    hold_exponentials(c, r);
  }
  release(&c->m.q);
}

/* From a tile whose last exponentials are there to the next one. */
INLINE void take_next_tile(consumer *c, registers *r, work next, uint32_t blocks) {
  float scales[2];
  skip_keys(c, next.blocks - blocks);
  kdl_gpu_ring_wait_full(&c->m.q);
  start_both(c, r);
  wait_for_result(c, r);
  skip_values(c, next.blocks - blocks);
  store_result(c, r);
  start_rows(c, r);
  c->w = next;
  c->block = blocks - 1;
  take_scores(c, r, scales);
  hold_exponentials(c, r);
}

/* A tile that does not follow another one. */
INLINE void take_first_tile(consumer *c, registers *r, uint32_t blocks) {
  float scales[2];
  skip_keys(c, c->w.blocks - blocks);
  skip_values(c, c->w.blocks - blocks);
  kdl_gpu_ring_wait_full(&c->m.q);
  start_scores(c, r);
  give_turn(c->next);
  wait_for_scores(c, r, 0);
  c->block = blocks - 1;
  take_scores(c, r, scales);
  hold_exponentials(c, r);
}

/* A tile in which the warpgroup has no keys. */
INLINE void take_empty_tile(consumer *c, registers *r) {
  skip_keys(c, c->w.blocks);
  skip_values(c, c->w.blocks);
  if (c->w.blocks) {
    kdl_gpu_ring_wait_full(&c->m.q);
    release(&c->m.q);
  }
  store_result(c, r);
}

INLINE void run_consumer(consumer *c, registers *r) {
  const uint32_t count = work_count(c->args);
  if (!c->next)
    give_turn(0);
  uint32_t number = take_number(&c->m);
#pragma clang loop unroll(disable)
  while (number < count) {
    c->w = work_of(c->args, c->t, number);
    uint32_t blocks = blocks_of(c, c->w);
    start_rows(c, r);
    if (!blocks) {
      take_empty_tile(c, r);
      number = take_number(&c->m);
      continue;
    }
    take_first_tile(c, r, blocks);
#pragma clang loop unroll(disable)
    for (;;) {
      take_blocks(c, r);
      number = take_number(&c->m);
      if (number >= count)
        break;
      const work next = work_of(c->args, c->t, number);
      blocks = blocks_of(c, next);
      if (!blocks)
        break;
      take_next_tile(c, r, next, blocks);
    }
    start_result(c, r);
    wait_for_result(c, r);
    store_result(c, r);
  }
  if (!c->warpgroup) /* the turn that was given last */
    wait_for_turn(0);
  end_store();
}

/* ------------------------------------------------------------------------------------------ */
/* Kernels                                                                                      */

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
  registers r;
  consumer c = {.args = args, .t = t, .m = m, .subgroup = subgroup - (uint32_t)t.producers};
  c.warpgroup = c.subgroup / 4;
  c.next = c.warpgroup + 1 < (uint32_t)t.subgroups / 4 ? c.warpgroup + 1 : 0;
  run_consumer(&c, &r);
}

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
