/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A microkernel of one's own for the matrix multiplication on AMD's CDNA 3: bf16 by MFMA, with a
 * tile of 128 by 64 that the built-in one does not have. <kdl/gpu_mma_amd.h> has what differs from
 * gpu_mma_bf16.c: no subgroup only copies, and the caller has the barriers.
 *
 *     kdl cc gpu_mma_bf16_amd.c --targets=gfx942 --emit=bitcode -o mine.offload \
 *       -fconvergent-functions -Xclang -mcode-object-version=none
 */
#include <kdl/gpu_mma.h>

enum { panel_row = kdl_gpu_mma_panel_bytes };

typedef short four __attribute__((vector_size(8)));
typedef float sums_of_lane __attribute__((vector_size(16)));
typedef const __attribute__((address_space(3))) uint8_t *local_bytes;

/* Four values of a row (of B: a column) along K. */
KDL_GPU_INLINE four load(local_bytes panel, uint32_t row, uint32_t k) {
  typedef const __attribute__((address_space(3))) four *local_four;
  return *(local_four)(panel + row * panel_row + 16 * ((k / 8) ^ (row % 8)) + k % 8 * 2);
}

KDL_GPU_INLINE void multiply(float *sums, four a, four b) {
  sums_of_lane d;
  __builtin_memcpy(&d, sums, sizeof d);
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, d, 0, 0, 0);
  __builtin_memcpy(sums, &d, sizeof d);
}

void kdl_uk_gpu_mma_f32_bf16(KDL_GPU_MMA_PARAMETERS(kdl_gpu_bf16, float)) {
  enum { most_m = 4 };
  float *d = acc_base + acc_offset;
  const uint32_t lane =
      __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); /* of 64 */
  const uint32_t line = lane % 16, at_m = (uint32_t)(subgroup % subgroups_m),
                 at_n = (uint32_t)(subgroup / subgroups_m * intrinsics_n);
  const uint32_t stage_bytes =
      16 * (uint32_t)(intrinsics_m * subgroups_m + intrinsics_n * subgroups_n) * panel_row;
  (void)layout; /* operands are always along K */
#pragma clang loop unroll(disable)
  for (int32_t outer = 0; outer < k_outer; ++outer) {
    const uint32_t stage = ring->stage * stage_bytes;
    const local_bytes lhs = (local_bytes)(const void *)(lhs_base + lhs_offset) + stage;
    const local_bytes rhs = (local_bytes)(const void *)(rhs_base + rhs_offset) + stage;
    kdl_gpu_ring_wait_full(ring);
#pragma clang loop unroll(full)
    for (uint32_t step = 0; step < (uint32_t)intrinsics_k; ++step) {
      const uint32_t k = 16 * step + lane / 16 * 4;
      four a[most_m];
#pragma clang loop unroll(full)
      for (int32_t i = 0; i < intrinsics_m; ++i)
        a[i] = load(lhs, 16 * ((uint32_t)(i * subgroups_m) + at_m) + line, k);
#pragma clang loop unroll(full)
      for (int32_t j = 0; j < intrinsics_n; ++j) {
        const four b = load(rhs, 16 * (at_n + (uint32_t)j) + line, k);
#pragma clang loop unroll(full)
        for (int32_t i = 0; i < intrinsics_m; ++i)
          multiply(d + kdl_gpu_mma_values * (i * intrinsics_n + j), a[i], b);
      }
    }
    kdl_gpu_ring_release(ring, ring->stage);
    kdl_gpu_ring_next(ring);
  }
}

uint32_t kdl_uk_gpu_mma_f32_bf16_tile(int32_t size) {
  switch (size) {
  case 0: /* 128 by 64 */
    return KDL_GPU_MMA_TILE(4, 2, 2, 2, 0, 0);
  case 1: /* 64 by 64 */
    return KDL_GPU_MMA_TILE(2, 2, 2, 2, 0, 0);
  default:
    return 0;
  }
}

/* One stage is multiplied while the other is filled. */
uint32_t kdl_uk_gpu_mma_f32_bf16_group_bytes(int32_t size) {
  return 2 * (uint32_t)KDL_GPU_MMA_STAGE_BYTES(kdl_uk_gpu_mma_f32_bf16_tile(size));
}

void kdl_uk_gpu_mma_f32_bf16_role(int32_t size, kdl_gpu_mma_role role) {
  (void)size, (void)role;
}
