/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tiles whose K is divided among groups: their sums are added up, always in the same order. */
#ifndef KDL_MATMUL_UKERNELS_GPU_MATMUL_PARTS_H
#define KDL_MATMUL_UKERNELS_GPU_MATMUL_PARTS_H

#include "schedule.h"

/* ------------------------------------------------------------------------------------------ */
/* In the memory of the device                                                                  */

typedef acc_type acc_four __attribute__((vector_size(16)));

/* Where the lane has its sums of a part. Computed anew for each use, since all registers are in
 * use. */
INLINE __gpu_global acc_four *sums_of_part(const kdl_grid_constant_matmul *args, tiling t, work w,
                                           uint32_t parts, uint32_t part, uint32_t subgroup) {
  const uint64_t of_subgroup = (uint64_t)(t.intrinsics_m * t.intrinsics_n) * kdl_gpu_mma_lanes;
  const uint64_t of_part = (uint64_t)(t.subgroups_m * t.subgroups_n) * of_subgroup;
  uint64_t address =
      args->partial + 16 * (((uint64_t)(w.tile - args->whole) * parts + part) * of_part +
                            subgroup * of_subgroup + lane_of_store());
  __asm__ volatile("" : "+l"(address)); /* or parts of the sum would be kept */
  return (__gpu_global acc_four *)address;
}

/* Puts a subgroup's sums of a part into memory. The one that is the last of its subgroups in all
 * parts adds them up in their order, so that the result does not depend on which one that is: it
 * returns 1. */
INLINE int add_parts_in_memory(const kdl_grid_constant_matmul *args, tiling t, work w,
                               uint32_t parts, uint32_t part, acc_type *acc, uint32_t subgroup) {
  const uint32_t fragments = (uint32_t)(t.intrinsics_m * t.intrinsics_n);
  const uint32_t subgroups = (uint32_t)(t.subgroups_m * t.subgroups_n);
  __gpu_global acc_four *mine = sums_of_part(args, t, w, parts, part, subgroup);
  __gpu_global uint32_t *counter =
      (__gpu_global uint32_t *)args->counters + (w.tile - args->whole) * subgroups + subgroup;
  uint32_t seen = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < fragments; ++i)
    mine[i * kdl_gpu_mma_lanes] =
        (acc_four){acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]};
  __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
  __gpu_sync_lane(~(uint64_t)0);
  if (lane_of_store() == 0)
    seen = kdl_atomic_add(counter, 1u);
  seen = (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int)seen, 0, 31);
  if (seen + 1 != parts)
    return 0;
  __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
  if (lane_of_store() == 0)
    *counter = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < 4 * fragments; ++i)
    acc[i] = 0;
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < parts; ++i) {
    const __gpu_global acc_four *sums = sums_of_part(args, t, w, parts, i, subgroup);
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < fragments; ++j) {
      acc_four values = sums[j * kdl_gpu_mma_lanes];
#pragma clang loop unroll(full)
      for (uint32_t v = 0; v < 4; ++v)
        acc[4 * j + v] += values[v];
    }
  }
  return 1;
}

/* ------------------------------------------------------------------------------------------ */
/* In the group memory of a cluster                                                             */

/* All threads of the cluster's groups that have not ended: also what they wrote is there. */
INLINE void sync_cluster(void) {
  __asm__ volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

/* The groups of a cluster have parts of one tile that follow each other, and each has one tile
 * alone: the ring is free when all have multiplied. Subgroup s of every group sends its sums to
 * group s % groups, whose subgroup s adds them up and returns 1. */
INLINE int add_parts_in_cluster(const kdl_grid_constant_matmul *args, tiling t, work w,
                                acc_type *acc, const __gpu_local uint8_t *stages,
                                uint32_t subgroup) {
  const uint32_t fragments = (uint32_t)(t.intrinsics_m * t.intrinsics_n);
  const uint32_t line = kdl_gpu_mma_lanes * 16, of_part = fragments * line;
  const uint32_t parts = args->cluster, owner = subgroup % parts, rank = w.part % parts;
  const uint32_t first =
      (uint32_t)(uintptr_t)stages + subgroup / parts * parts * of_part + lane_of_store() * 16;
  uint32_t to;
  sync_cluster();
  __asm__ volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                   : "=r"(to)
                   : "r"(first + rank * of_part), "r"(owner));
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < fragments; ++i) {
    uint32_t bits[4];
    __builtin_memcpy(bits, acc + 4 * i, sizeof bits);
    __asm__ volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to + i * line),
                     "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
                     : "memory");
  }
  sync_cluster();
  if (owner != rank)
    return 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < 4 * fragments; ++i)
    acc[i] = 0;
#pragma clang loop unroll(disable)
  for (uint32_t part = 0; part < parts; ++part) {
    const __gpu_local acc_four *sums =
        (const __gpu_local acc_four *)(uintptr_t)(first + part * of_part);
#pragma clang loop unroll(full)
    for (uint32_t i = 0; i < fragments; ++i) {
      acc_four values = sums[i * kdl_gpu_mma_lanes];
#pragma clang loop unroll(full)
      for (uint32_t j = 0; j < 4; ++j)
        acc[4 * i + j] += values[j];
    }
  }
  return 1;
}

/* ------------------------------------------------------------------------------------------ */

/* Whether the subgroup has all sums of its part of the tile now, and is to store them. */
INLINE int add_parts(const kdl_grid_constant_matmul *args, tiling t, work w, acc_type *acc,
                     const __gpu_local uint8_t *stages, uint32_t subgroup) {
  uint32_t parts = w.parts, part = w.part;
  if (parts < 2)
    return 1;
  if (t.is_bulk && args->cluster > 1) {
    if (!add_parts_in_cluster(args, t, w, acc, stages, subgroup))
      return 0;
    parts /= args->cluster;
    part /= args->cluster;
    if (parts < 2)
      return 1;
  }
  return add_parts_in_memory(args, t, w, parts, part, acc, subgroup);
}

#endif
