/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The result of a tile: divided by the sums of exponentials, and stored by bulk copies. */
#ifndef KDL_MATMUL_UKERNELS_GPU_ATTENTION_STORE_H
#define KDL_MATMUL_UKERNELS_GPU_ATTENTION_STORE_H

#include "softmax.h"

enum { lines_bytes = 16 * kdl_gpu_mma_panel_bytes }; /* 16 rows of 64 values */

/* Divides, and stores the logarithms of the sums. */
INLINE void finish_rows(const kdl_grid_constant_attention *args, tiling t, work w, state rows,
                        float *o, uint32_t subgroup) {
  const uint32_t lane = __gpu_lane_id();
#pragma clang loop unroll(full)
  for (uint32_t r = 0; r < 2; ++r) {
    const float sum = sum_of_row(rows.sum[r]);
    const float factor = sum > 0.0f ? __nvvm_rcp_approx_ftz_f(sum) : sum;
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < t.head / 4; ++i)
      o[4 * (i / 2) + 2 * (int32_t)r + i % 2] *= factor;
    const uint32_t row = w.row + 16 * subgroup + 8 * r + lane / 4;
    if (args->sums && lane % 4 == 0 && row < args->queries) {
      const float log2_e = 1.44269504f;
      const float log = (rows.most[r] * args->scale + __nvvm_lg2_approx_ftz_f(sum)) / log2_e;
      const uint64_t at = ((uint64_t)w.batch * args->heads + w.head) * args->queries + row;
      ((__gpu_global float *)args->sums)[at] = sum == 0.0f ? NONE : log;
    }
  }
}

/* 16 rows of the subgroup, as bf16, through group memory that is its own: 64 columns at a time. */
INLINE void store_rows(const kdl_grid_constant_attention *args, tiling t, work w, const float *o,
                       uint32_t staging, uint32_t subgroup) {
  const uint32_t lane = __gpu_lane_id(), row = lane % 16;
  uint32_t held[64];
  microkernel(hold)(o, held, t.head / 8);
#pragma clang loop unroll(full)
  for (uint32_t block = 0; block < (uint32_t)t.head / 64; ++block) {
    const uint32_t at = staging + block * lines_bytes;
    if (lane == 0 && block == 0) /* what was stored before has been read */
      __asm__ volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __gpu_sync_lane(~(uint64_t)0);
#pragma clang loop unroll(full)
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t *pairs = held + 4 * (4 * block + j), chunk = 2 * j + lane / 16;
      __asm__ volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                           at + row * kdl_gpu_mma_panel_bytes + 16 * (chunk ^ row % 8)),
                       "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                       : "memory");
    }
    __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __gpu_sync_lane(~(uint64_t)0);
    if (lane == 0)
      __asm__ volatile(
          "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n\t"
          "cp.async.bulk.commit_group;" ::"l"(&args->o_map),
          "r"(at), "r"(64 * block), "r"(w.row + 16 * subgroup), "r"(w.head), "r"(w.batch)
          : "memory");
  }
}

/* Before a subgroup ends, what its copies read has been read. */
INLINE void end_store(void) {
  if (__gpu_lane_id() == 0)
    __asm__ volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

#endif
