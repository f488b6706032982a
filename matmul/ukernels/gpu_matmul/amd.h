/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix multiplication on AMD's GPUs, for every type and target: the caller of the microkernels of
 * <kdl/gpu_mma_amd.h>. All subgroups of a group copy and multiply. What includes it defines the
 * same as for gpu_matmul.h, and the kernels have the same names and parameter.
 */
#include "amd_copy.h"
#include "amd_store.h"

/* The launch gives its size. */
extern __attribute__((aligned(kdl_gpu_mma_panel_align))) __gpu_local uint8_t group_memory[];

/* The parameter of the kernel, where the launch put it. It is read anew for each tile, and to store
 * one, since there are too few scalar registers for all of it. */
INLINE const kdl_grid_constant_matmul *read_arguments(void) {
  typedef const __attribute__((address_space(4))) kdl_grid_constant_matmul *in_launch;
  in_launch args = (in_launch)__builtin_amdgcn_kernarg_segment_ptr();
  __asm__ volatile("" : "+s"(args));
  return (const kdl_grid_constant_matmul *)args;
}

/* Whether there is code for a tile, which may be a user's: each thread copies as many pairs of
 * chunks of an operand as the others, and registers hold them and all sums. */
INLINE int is_possible(uint32_t tile) {
  const int32_t threads = KDL_GPU_MMA_THREADS(tile);
  const int32_t rows = KDL_GPU_MMA_ROWS(tile), columns = KDL_GPU_MMA_COLUMNS(tile);
  return threads && threads <= 1024 && rows <= threads && columns <= threads &&
         rows * row_chunks % (2 * threads) == 0 && columns * row_chunks % (2 * threads) == 0 &&
         !KDL_GPU_MMA_PRODUCERS(tile) && !KDL_GPU_MMA_IS_BULK(tile) &&
         kdl_gpu_mma_values * KDL_GPU_MMA_INTRINSICS_M(tile) * KDL_GPU_MMA_INTRINSICS_N(tile) <=
             kdl_gpu_mma_most_values;
}
INLINE uint32_t tile_of(int32_t size) {
  const uint32_t tile = microkernel_tile(size);
  return is_possible(tile) ? tile : 0;
}

INLINE void multiply_matrices(int32_t size, int32_t layout) {
  const kdl_grid_constant_matmul *args = read_arguments();
  const uint32_t tile = tile_of(size);
  if (!tile)
    return;
  const tiling t = tiling_of(args, tile, 0);
  const uint32_t threads = (uint32_t)KDL_GPU_MMA_THREADS(tile), thread = __gpu_thread_id(0);
  const uint32_t stage_bytes = (uint32_t)KDL_GPU_MMA_STAGE_BYTES(tile);
  const uint32_t subgroup =
      (uint32_t)__builtin_amdgcn_readfirstlane((int)(thread / kdl_gpu_mma_lanes));
  const element *lhs_panel = (const element *)(const void *)group_memory;
  const int64_t rhs_offset = (int64_t)t.rows * t.depth;
  kdl_gpu_ring ring = {.stages = microkernel_group_bytes(size) / stage_bytes};
  acc_type acc[kdl_gpu_mma_most_values]; /* what the tile does not use is not there */
  stage_part held;
  microkernel_role(size, KDL_GPU_MMA_MULTIPLIES);
#pragma clang loop unroll(disable)
  for (uint32_t number = first_work(); number < t.work; number += work_step()) {
    args = read_arguments();
    const work w = work_of(args, t, number);
    const operand lhs =
        operand_of(&args->lhs, w.batch, args->m, args->k, layout & KDL_GPU_MMA_LHS_BY_K);
    const operand rhs =
        operand_of(&args->rhs, w.batch, args->n, args->k, layout & KDL_GPU_MMA_RHS_BY_K);
    const uint32_t depth = (uint32_t)t.depth;
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < kdl_gpu_mma_values * t.intrinsics_m * t.intrinsics_n; ++i)
      acc[i] = 0;
    if (w.first_step < w.last_step) {
      const uint32_t k = w.first_step * depth;
      load_stage(&held, &lhs, &rhs, &w, t, k, thread, threads, layout);
      store_stage(group_memory + ring.stage * stage_bytes, &held, &lhs, &rhs, &w, t, k, thread,
                  threads, layout);
    }
    __gpu_sync_threads();
#pragma clang loop unroll(disable)
    for (uint32_t step = w.first_step; step < w.last_step; ++step) {
      const uint32_t k = (step + 1) * depth;
      const int has_next = step + 1 < w.last_step;
      if (has_next)
        load_stage(&held, &lhs, &rhs, &w, t, k, thread, threads, layout);
      microkernel(lhs_panel, 0, lhs_panel, rhs_offset, acc, 0, &ring, 1, t.intrinsics_m,
                  t.intrinsics_n, kdl_gpu_mma_intrinsics_k, t.subgroups_m, t.subgroups_n,
                  (int32_t)subgroup, 0);
      if (has_next) /* to the stage that was multiplied before */
        store_stage(group_memory + ring.stage * stage_bytes, &held, &lhs, &rhs, &w, t, k, thread,
                    threads, layout);
      __gpu_sync_threads();
    }
    args = read_arguments();
    if (args->parts > 1 &&
        !add_parts(args, t, w, acc, (__gpu_local uint32_t *)group_memory, thread, threads))
      continue;
    store_tile(args, t, w, acc, subgroup);
  }
}

/* The kernels for a size of the tile, by what lies by K in memory: "n" (nothing), "a", "b" or
 * "ab". */
#define GROUP_ITEMS(kernel) KDL_GROUP_ITEMS(kernel)
#define KERNEL(size, suffix, layout)                                                               \
  GROUP_ITEMS(NAMED(size##suffix)) {                                                               \
    return (uint32_t)KDL_GPU_MMA_THREADS(tile_of(size));                                           \
  }                                                                                                \
  __gpu_kernel void NAMED(size##suffix)(kdl_grid_constant_matmul args) {                           \
    (void)args;                                                                                    \
    multiply_matrices(size, layout);                                                               \
  }
#if HAS_BY_K
#define KERNELS(size)                                                                              \
  KERNEL(size, n, 0)                                                                               \
  KERNEL(size, a, KDL_GPU_MMA_LHS_BY_K)                                                            \
  KERNEL(size, b, KDL_GPU_MMA_RHS_BY_K)                                                            \
  KERNEL(size, ab, KDL_GPU_MMA_LHS_BY_K | KDL_GPU_MMA_RHS_BY_K)
#else
#define KERNELS(size) KERNEL(size, n, 0)
#endif
KERNELS(0)
KERNELS(1)
KERNELS(2)
enum { kernel_sizes = 3, least_stages = 2 };

INLINE uint32_t other_bytes(uint32_t tile) {
  (void)tile;
  return 0;
}
#include "pack.h"
#include "tiles.h"
