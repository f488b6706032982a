/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Matrix multiplication on NVIDIA's GPUs, for every type and target: the caller of the microkernels
 * of <kdl/gpu_mma.h>. A group has subgroups that copy operands into a ring of stages, and subgroups
 * that multiply and store. It takes one tile after the other, and copies the next one's operands
 * while it stores.
 *
 * What includes it defines: element, acc_type, acc_is_integer, HAS_BY_K; microkernel, its three
 * functions, and the names of kernels.
 */
#include "copy.h"
#include "parts.h"
#include "schedule.h"
#include "store.h"

enum { barrier_bytes = 256 }; /* of up to 16 stages */

/* The launch gives its size. */
extern __attribute__((aligned(kdl_gpu_mma_panel_align))) __gpu_local uint8_t group_memory[];

/* Cycles by which half of the subgroups that multiply begin later than the others, so that one half
 * stores while the other multiplies: in groups that compute several tiles. */
KDL_CONSTANT(int32_t, gpu_matmul_stagger, 500);

INLINE void stagger(tiling t, uint32_t subgroup) {
  const uint32_t subgroups = (uint32_t)(t.subgroups_m * t.subgroups_n);
  if (!kdl_const_gpu_matmul_stagger || subgroup < subgroups / 2 || subgroups < 8 || !t.is_bulk ||
      t.work <= work_step())
    return;
  const uint64_t start = __builtin_readcyclecounter();
  while (__builtin_readcyclecounter() - start < (uint64_t)kdl_const_gpu_matmul_stagger)
    ;
}

INLINE void init_barrier(uint32_t barrier, uint32_t arrivals) {
  __asm__ volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* A constant where the ring cannot be deeper than the microkernel's: it is 1 % faster than a number
 * of the launch (8192x8192x8192). */
INLINE uint32_t stages_of(const kdl_grid_constant_matmul *args, int32_t size, uint32_t tile) {
  const uint32_t least = microkernel_group_bytes(size) / (uint32_t)KDL_GPU_MMA_STAGE_BYTES(tile);
  return GPU_HAS_DEEPER_RING(KDL_GPU_MMA_IS_BULK(tile), KDL_GPU_MMA_SUBGROUPS(tile)) ? args->stages
                                                                                     : least;
}

/* Whether there is code for a tile, which may be a user's: blocks of 64 rows by K, lines of 64
 * values to store, and registers for all sums. */
INLINE int is_possible(uint32_t tile) {
  return KDL_GPU_MMA_ROWS(tile) % 64 == 0 && KDL_GPU_MMA_COLUMNS(tile) % 64 == 0 &&
         KDL_GPU_MMA_INTRINSICS_N(tile) % 8 == 0 && KDL_GPU_MMA_PRODUCERS(tile) &&
         4 * KDL_GPU_MMA_INTRINSICS_M(tile) * KDL_GPU_MMA_INTRINSICS_N(tile) <=
             kdl_gpu_mma_most_values &&
         KDL_GPU_MMA_THREADS(tile) <= 1024;
}
INLINE uint32_t tile_of(int32_t size) {
  const uint32_t tile = microkernel_tile(size);
  return is_possible(tile) ? tile : 0;
}

/* The launch before on the queue may still run, and the next one may begin (KDL_LAUNCH_EARLY): all
 * that lies in global memory comes after this. */
INLINE void wait_for_launch_before(const kdl_grid_constant_matmul *args, uint32_t thread) {
  if (thread == 0)
    __asm__ volatile("prefetch.tensormap [%0];\n\tprefetch.tensormap [%1];" ::"l"(&args->lhs_map),
                     "l"(&args->rhs_map)
                     : "memory");
  __asm__ volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
}

INLINE void multiply_matrices(const kdl_grid_constant_matmul *args, int32_t size, int32_t layout,
                              int32_t is_plain) {
  const uint32_t tile = tile_of(size);
  if (!tile || (is_plain && !KDL_GPU_MMA_IS_BULK(tile)))
    return;
  const tiling t = tiling_of(args, tile, is_plain);
  const uint32_t thread = __gpu_thread_id(0);
  /* The same in all lanes, so that branches on it are uniform. */
  const uint32_t subgroup =
      (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int)(thread / kdl_gpu_mma_lanes), 0, 31);
  const uint32_t stage_count = stages_of(args, size, tile);
  __gpu_local uint8_t *stages = group_memory;
  __gpu_local uint8_t *staging = stages + stage_count * (uint32_t)KDL_GPU_MMA_STAGE_BYTES(tile);
  __gpu_local uint8_t *barriers =
      staging + (uint32_t)KDL_GPU_MMA_SUBGROUPS(tile) * staging_bytes(t.is_bulk);
  kdl_gpu_ring ring = {.full = (uint32_t)(uintptr_t)barriers, .stages = stage_count};
  ring.empty = ring.full + 8 * ring.stages;
  if (thread == 0) {
    for (uint32_t i = 0; i < ring.stages; ++i) {
      init_barrier(ring.full + 8 * i, full_arrivals(args, t));
      init_barrier(ring.empty + 8 * i,
                   (uint32_t)KDL_GPU_MMA_SUBGROUPS(tile) * kdl_gpu_ring_releases());
    }
    if (t.is_bulk)
      __asm__ volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __gpu_sync_threads();
  if (t.is_bulk)
    wait_for_launch_before(args, thread);

  if (subgroup < (uint32_t)t.producers) {
    microkernel_role(size, KDL_GPU_MMA_COPIES);
    ring.phase = 1;
    run_producers(args, t, ring, stages, thread, layout);
    /* What threads stored into the ring is before what others store there after these barriers. */
    if (t.is_bulk && parts_of(args, t) > 1 && args->cluster > 1 && !has_bulk_alone(args, t)) {
      sync_cluster();
      sync_cluster();
    }
    return;
  }
  microkernel_role(size, KDL_GPU_MMA_MULTIPLIES);
  const uint32_t of_multiplying = subgroup - (uint32_t)t.producers;
  const element *lhs = (const element *)(const void *)stages;
  const int64_t rhs_offset = (int64_t)t.rows * t.depth;
  stagger(t, of_multiplying);
  acc_type acc[kdl_gpu_mma_most_values]; /* what the tile does not use is not there */
#pragma clang loop unroll(disable)
  for (uint32_t number = first_work(); number < t.work; number += work_step()) {
    work w = work_of(args, t, number);
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < 4 * t.intrinsics_m * t.intrinsics_n; ++i)
      acc[i] = 0;
    microkernel(lhs, 0, lhs, rhs_offset, acc, 0, &ring, (int32_t)(w.last_step - w.first_step),
                t.intrinsics_m, t.intrinsics_n, kdl_gpu_mma_intrinsics_k, t.subgroups_m,
                t.subgroups_n, (int32_t)of_multiplying, layout);
    if (!t.is_bulk) /* computed anew, since the sums take all registers */
      w = work_of(args, t, opaque(number));
    if (parts_of(args, t) > 1 && !add_parts(args, t, w, acc, stages, of_multiplying))
      continue;
    store_tile(args, t, w, acc, staging, of_multiplying);
  }
  if (t.is_bulk)
    end_bulk();
}

/* The kernels for a size of the tile. Names have what lies by K: "n" (nothing), "a", "b" or "ab".
 * Those that end with "plain" have the code for the usual case alone, which takes half as long to
 * link. */
#define GROUP_ITEMS(kernel) KDL_GROUP_ITEMS(kernel)
#define KERNEL(size, suffix, layout, is_plain)                                                     \
  GROUP_ITEMS(NAMED(size##suffix)) {                                                               \
    const uint32_t tile = tile_of(size);                                                           \
    return is_plain && !KDL_GPU_MMA_IS_BULK(tile) ? 0 : (uint32_t)KDL_GPU_MMA_THREADS(tile);       \
  }                                                                                                \
  __gpu_kernel void NAMED(size##suffix)(kdl_grid_constant_matmul args) {                           \
    multiply_matrices(&args, size, layout, is_plain);                                              \
  }
#define KERNELS_OF(size, suffix, layout)                                                           \
  KERNEL(size, suffix, layout, 0) KERNEL(size, suffix##_plain, layout, 1)
#if HAS_BY_K
#define KERNELS(size)                                                                              \
  KERNELS_OF(size, n, 0)                                                                           \
  KERNELS_OF(size, a, KDL_GPU_MMA_LHS_BY_K)                                                        \
  KERNELS_OF(size, b, KDL_GPU_MMA_RHS_BY_K)                                                        \
  KERNELS_OF(size, ab, KDL_GPU_MMA_LHS_BY_K | KDL_GPU_MMA_RHS_BY_K)
#else
#define KERNELS(size) KERNELS_OF(size, n, 0)
#endif
KERNELS(0)
KERNELS(1)
KERNELS(2)
KERNELS(3)
KERNELS(4)
KERNELS(5)
enum { kernel_sizes = 6, least_stages = 1 };

INLINE uint32_t other_bytes(uint32_t tile) {
  return (uint32_t)KDL_GPU_MMA_SUBGROUPS(tile) * staging_bytes(KDL_GPU_MMA_IS_BULK(tile)) +
         barrier_bytes;
}
#include "pack.h"
#include "tiles.h"
