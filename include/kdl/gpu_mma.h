/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix-multiply microkernels for the tensor cores of GPUs: the loop over K of one tile,
 * acc += lhs * rhs, for all subgroups of a group that multiply.
 *
 * The operands pass through a ring of stages in group memory. Other subgroups of the group, the
 * producers, fill it; the microkernel waits for a stage, multiplies with it and releases it. The
 * caller has everything else: which tile, the ring, the producers, the epilogue and the store. It
 * is one source for all types and targets: counts, sizes and roles below are constants once the
 * microkernel is linked.
 *
 *     group memory    stage 0             stage 1                 stages - 1
 *                     .-------.-------.   .-------.-------.       .-------.-------.
 *                     |  lhs  |  rhs  |   |  lhs  |  rhs  |  ...  |  lhs  |  rhs  |
 *                     '-------'-------'   '-------'-------'       '-------'-------'
 *
 * A stage has 128 bytes of K of each row of the tile (lhs) and of each column of it (rhs): a panel.
 * Row r of a panel is 128 bytes at 128 * r, in 8 chunks of 16 bytes. Chunk c is at the place
 * c ^ (r % 8), so that 8 rows of one chunk are in different banks: it is the swizzle of 128 bytes
 * of NVIDIA's tensor memory accelerator (TMA), of wgmma's descriptors, and without conflict for
 * ldmatrix. A panel begins at a multiple of 1024 bytes.
 *
 *     row 0   | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |      a chunk: 8 values of 2 bytes, 16 of 1 byte
 *     row 1   | 1 | 0 | 3 | 2 | 5 | 4 | 7 | 6 |
 *     row 2   | 2 | 3 | 0 | 1 | 6 | 7 | 4 | 5 |
 *     ...
 *
 * An operand of 2-byte values may also lie with its rows along K, if `layout` has
 * KDL_GPU_MMA_LHS_BY_K or KDL_GPU_MMA_RHS_BY_K: then a panel is made of blocks of 64 rows of the
 * tile, one after the other, and row k of a block has the 64 values of one k, swizzled alike.
 *
 * The sums are in registers of the multiplying subgroups. Their unit is a fragment of 16 by 8, of
 * which each lane has four values, as in mma.sync and wgmma:
 *
 *                 columns 0 1   2 3   4 5   6 7
 *     row 0       lane     0     1     2     3      values 0, 1
 *     ...
 *     row 7               28    29    30    31
 *     row 8                0     1     2     3      values 2, 3
 *     ...
 *     row 15              28    29    30    31
 *
 * A tile has subgroups_m by subgroups_n subgroups, each of which has intrinsics_m by intrinsics_n
 * fragments. Subgroup s is the one at m = s % subgroups_m, n = s / subgroups_m. Its fragment (i, j)
 * begins at row 16 * (i * subgroups_m + m) and column 8 * (n * intrinsics_n + j), and is
 * acc[4 * (i * intrinsics_n + j)] and the three after it. The array is the caller's; after
 * inlining it is registers.
 *
 * A microkernel NAME has three functions with it, in the same image; each folds to a constant or to
 * one instruction where its argument is a constant:
 *
 *     NAME_tile         the tile of a size, from 0, the largest; 0 where there are no more sizes
 *     NAME_group_bytes  the bytes of the ring for that size: a multiple of a stage's
 *     NAME_role         runs first in every subgroup that copies or multiplies: registers are
 *                       exchanged where the instruction set can
 *
 * AMD's GPUs have another fragment and no producers: <kdl/gpu_mma_amd.h>.
 */
#ifndef KDL_GPU_MMA_H
#define KDL_GPU_MMA_H

#include <kdl/ukernel.h>

#ifdef __AMDGPU__
#include <kdl/gpu_mma_amd.h>
#define KDL_GPU_MMA_UKERNEL KDL_UKERNEL KDL_UKERNEL_LAYOUT(KDL_GPU_MMA_AMD_LAYOUT)
#else
#define KDL_GPU_MMA_UKERNEL KDL_UKERNEL KDL_UKERNEL_LAYOUT(KDL_GPU_MMA_LAYOUT)
enum {
  kdl_gpu_mma_fragment_rows = 16,
  kdl_gpu_mma_fragment_columns = 8,
  kdl_gpu_mma_lanes = 32,
};
#endif

enum {
  kdl_gpu_mma_panel_bytes = 128,  /* of K in a stage, for each row of a panel */
  kdl_gpu_mma_intrinsics_k = 4,   /* of 32 bytes of K each: the steps of a stage */
  kdl_gpu_mma_panel_align = 1024, /* of a panel in group memory */
  kdl_gpu_mma_most_values = 128,  /* of a lane, in all of its fragments */
};

/* Of `layout`. */
enum { KDL_GPU_MMA_LHS_BY_K = 1, KDL_GPU_MMA_RHS_BY_K = 2 };

typedef enum kdl_gpu_mma_role {
  KDL_GPU_MMA_COPIES = 0,
  KDL_GPU_MMA_MULTIPLIES = 1
} kdl_gpu_mma_role;

typedef uint16_t kdl_gpu_bf16, kdl_gpu_f16;
typedef uint8_t kdl_gpu_e4m3, kdl_gpu_e4m3fnuz;

/* What NAME_tile returns. `producers` subgroups copy; they are the first ones of the group. `bulk`
 * is 1 if the target has bulk copies of tensors (TMA). */
#define KDL_GPU_MMA_TILE(intrinsics_m, intrinsics_n, subgroups_m, subgroups_n, producers, bulk)    \
  ((uint32_t)(intrinsics_m) | (uint32_t)(intrinsics_n) << 8 | (uint32_t)(subgroups_m) << 16 |      \
   (uint32_t)(subgroups_n) << 20 | (uint32_t)(producers) << 24 | (uint32_t)(bulk) << 28)
#define KDL_GPU_MMA_INTRINSICS_M(tile) ((int32_t)((tile) & 0xff))
#define KDL_GPU_MMA_INTRINSICS_N(tile) ((int32_t)((tile) >> 8 & 0xff))
#define KDL_GPU_MMA_SUBGROUPS_M(tile) ((int32_t)((tile) >> 16 & 0xf))
#define KDL_GPU_MMA_SUBGROUPS_N(tile) ((int32_t)((tile) >> 20 & 0xf))
#define KDL_GPU_MMA_PRODUCERS(tile) ((int32_t)((tile) >> 24 & 0xf))
#define KDL_GPU_MMA_IS_BULK(tile) ((int32_t)((tile) >> 28 & 1))
#define KDL_GPU_MMA_ROWS(tile)                                                                     \
  (kdl_gpu_mma_fragment_rows * KDL_GPU_MMA_INTRINSICS_M(tile) * KDL_GPU_MMA_SUBGROUPS_M(tile))
#define KDL_GPU_MMA_COLUMNS(tile)                                                                  \
  (kdl_gpu_mma_fragment_columns * KDL_GPU_MMA_INTRINSICS_N(tile) * KDL_GPU_MMA_SUBGROUPS_N(tile))
#define KDL_GPU_MMA_STAGE_BYTES(tile)                                                              \
  (kdl_gpu_mma_panel_bytes * (KDL_GPU_MMA_ROWS(tile) + KDL_GPU_MMA_COLUMNS(tile)))
#define KDL_GPU_MMA_SUBGROUPS(tile) (KDL_GPU_MMA_SUBGROUPS_M(tile) * KDL_GPU_MMA_SUBGROUPS_N(tile))
#define KDL_GPU_MMA_THREADS(tile)                                                                  \
  (kdl_gpu_mma_lanes * (KDL_GPU_MMA_SUBGROUPS(tile) + KDL_GPU_MMA_PRODUCERS(tile)))

/* The ring, as a subgroup sees it. `full` and `empty` are addresses in group memory of one barrier
 * of 8 bytes for each stage. A subgroup that multiplies begins with phase 0, one that copies with
 * phase 1: all stages are empty at first. It keeps its ring from one tile to the next. */
typedef struct kdl_gpu_ring {
  uint32_t full, empty;
  uint32_t stages;
  uint32_t stage; /* the next one */
  uint32_t phase; /* of that stage */
} kdl_gpu_ring;

/* The operands: `lhs_base` and `rhs_base` plus offsets in elements are the panels of stage 0 in
 * group memory; both operands of the next stage are KDL_GPU_MMA_STAGE_BYTES further. `k_outer` is
 * the number of stages to multiply with, `subgroup` the number of the calling one of those that
 * multiply, the same in all its lanes. All of them call it together. */
#define KDL_GPU_MMA_PARAMETERS(element_type, acc_type)                                             \
  const element_type *lhs_base, int64_t lhs_offset, const element_type *rhs_base,                  \
      int64_t rhs_offset, acc_type *acc_base, int64_t acc_offset, kdl_gpu_ring *ring,              \
      int32_t k_outer, int32_t intrinsics_m, int32_t intrinsics_n, int32_t intrinsics_k,           \
      int32_t subgroups_m, int32_t subgroups_n, int32_t subgroup, int32_t layout

#define KDL_GPU_MMA_DECLARE(name, element_type, acc_type)                                          \
  KDL_GPU_MMA_UKERNEL void name(KDL_GPU_MMA_PARAMETERS(element_type, acc_type));                   \
  KDL_GPU_MMA_UKERNEL uint32_t name##_tile(int32_t size);                                          \
  KDL_GPU_MMA_UKERNEL uint32_t name##_group_bytes(int32_t size);                                   \
  KDL_GPU_MMA_UKERNEL void name##_role(int32_t size, kdl_gpu_mma_role role)

KDL_GPU_MMA_DECLARE(kdl_uk_gpu_mma_f32_bf16, kdl_gpu_bf16, float);
KDL_GPU_MMA_DECLARE(kdl_uk_gpu_mma_f32_f16, kdl_gpu_f16, float);
KDL_GPU_MMA_DECLARE(kdl_uk_gpu_mma_s32_s8, int8_t, int32_t);
KDL_GPU_MMA_DECLARE(kdl_uk_gpu_mma_f32_e4m3, kdl_gpu_e4m3, float);
KDL_GPU_MMA_DECLARE(kdl_uk_gpu_mma_f32_e4m3fnuz, kdl_gpu_e4m3fnuz, float); /* gfx942's */

/* ------------------------------------------------------------------------------------------ */
/* Barriers of the ring                                                                         */

#define KDL_GPU_INLINE static inline __attribute__((always_inline))

#ifdef __NVPTX__

/* How often a barrier is tested before the kernel traps; 0: without limit. For tests. */
KDL_CONSTANT(int32_t, gpu_wait_limit, 0);

/* For tests: 1 lets every lane arrive at a stage that its subgroup has read, 0 one of them.
 * compute-sanitizer's racecheck does not follow that lanes have met before one of them arrives. */
KDL_CONSTANT(int32_t, gpu_every_lane_arrives, 0);

/* The 32-bit address of a pointer to group memory. */
KDL_GPU_INLINE uint32_t kdl_gpu_local_address(const void *pointer) {
  return (uint32_t)(uintptr_t)(const __attribute__((address_space(3))) void *)pointer;
}

/* Waits until the phase of a barrier is complete. */
KDL_GPU_INLINE void kdl_gpu_barrier_wait(uint32_t barrier, uint32_t phase) {
  for (int32_t tests = 0;; ++tests) {
    uint32_t is_done;
    if (__nvvm_reflect("__CUDA_ARCH") >= 900) /* waits for a while in hardware */
      __asm__ volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                       "selp.u32 %0, 1, 0, p; }"
                       : "=r"(is_done)
                       : "r"(barrier), "r"(phase)
                       : "memory");
    else
      __asm__ volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
                       "selp.u32 %0, 1, 0, p; }"
                       : "=r"(is_done)
                       : "r"(barrier), "r"(phase)
                       : "memory");
    if (is_done)
      return;
    if (kdl_const_gpu_wait_limit && tests > kdl_const_gpu_wait_limit)
      __builtin_trap();
  }
}

/* Waits until the next stage is full. */
KDL_GPU_INLINE void kdl_gpu_ring_wait_full(const kdl_gpu_ring *ring) {
  kdl_gpu_barrier_wait(ring->full + 8 * ring->stage, ring->phase);
}

/* Waits until the next stage is empty. */
KDL_GPU_INLINE void kdl_gpu_ring_wait_empty(const kdl_gpu_ring *ring) {
  kdl_gpu_barrier_wait(ring->empty + 8 * ring->stage, ring->phase);
}

/* How many lanes of a subgroup arrive at a stage that it has read. */
KDL_GPU_INLINE uint32_t kdl_gpu_ring_releases(void) {
  return kdl_const_gpu_every_lane_arrives ? kdl_gpu_mma_lanes : 1;
}

/* The calling subgroup has read a stage: one lane of each subgroup that multiplies arrives. */
KDL_GPU_INLINE void kdl_gpu_ring_release(const kdl_gpu_ring *ring, uint32_t stage) {
  if (kdl_const_gpu_every_lane_arrives || __nvvm_read_ptx_sreg_tid_x() % kdl_gpu_mma_lanes == 0)
    __asm__ volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(ring->empty + 8 * stage)
                     : "memory");
}

#else

/* The caller has barriers around the microkernel. */
KDL_GPU_INLINE void kdl_gpu_ring_wait_full(const kdl_gpu_ring *ring) {
  (void)ring;
}
KDL_GPU_INLINE void kdl_gpu_ring_release(const kdl_gpu_ring *ring, uint32_t stage) {
  (void)ring, (void)stage;
}

#endif

KDL_GPU_INLINE void kdl_gpu_ring_next(kdl_gpu_ring *ring) {
  ring->stage += 1;
  if (ring->stage == ring->stages) {
    ring->stage = 0;
    ring->phase ^= 1;
  }
}

#endif
