/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A microkernel of one's own for the matrix multiplication on NVIDIA's GPUs from sm_80 on: bf16 by
 * mma.sync, with tiles of 192 by 64 and 64 by 192 that the built-in one does not have. It is linked
 * into the kernels of kdl-matmul.offload in place of the built-in one:
 *
 *     kdl cc gpu_mma_bf16.c --targets=sm_80,sm_90a -fconvergent-functions --emit=bitcode -o
 * mine.offload export KDL_UKERNEL_PATH=mine.offload kdl explain kdl-matmul.offload
 * kdl_gpu_matmul_f32_bf16_0n --device=h200
 *
 * It loads operands from group memory word by word, which is simple and not the fastest:
 * matmul/ukernels/gpu_mma/mma_sync.h loads matrices. docs/gpu-matmul.md has what a tile must be.
 */
#include <kdl/gpu_mma.h>

enum { panel_row = kdl_gpu_mma_panel_bytes, block_bytes = 64 * panel_row };

typedef const __attribute__((address_space(3))) uint8_t *local_bytes;

/* The byte of a panel where the value of a row (of B: a column) and a k begins. */
KDL_GPU_INLINE uint32_t place_of(uint32_t row, uint32_t k, int32_t is_by_k) {
  const uint32_t line = is_by_k ? k : row, at = is_by_k ? row % 64 : k;
  return (is_by_k ? row / 64 * block_bytes : 0) + line * panel_row + 16 * ((at / 8) ^ (line % 8)) +
         at % 8 * 2;
}

/* The values of k and k + 1. */
KDL_GPU_INLINE uint32_t load_pair(local_bytes panel, uint32_t row, uint32_t k, int32_t is_by_k) {
  typedef const __attribute__((address_space(3))) uint16_t *local_values;
  typedef const __attribute__((address_space(3))) uint32_t *local_words;
  if (!is_by_k)
    return *(local_words)(panel + place_of(row, k, 0));
  return *(local_values)(panel + place_of(row, k, 1)) |
         (uint32_t)*(local_values)(panel + place_of(row, k + 1, 1)) << 16;
}

KDL_GPU_INLINE void multiply(float *sums, const uint32_t *a, const uint32_t *b) {
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                   "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

void kdl_uk_gpu_mma_f32_bf16(KDL_GPU_MMA_PARAMETERS(kdl_gpu_bf16, float)) {
  enum { most_m = 2 };
  float *d = acc_base + acc_offset;
  const int32_t lhs_by_k = layout & KDL_GPU_MMA_LHS_BY_K, rhs_by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const uint32_t at_m = (uint32_t)(subgroup % subgroups_m),
                 at_n = (uint32_t)(subgroup / subgroups_m * intrinsics_n);
  const uint32_t stage_bytes =
      (uint32_t)(16 * intrinsics_m * subgroups_m + 8 * intrinsics_n * subgroups_n) * panel_row;
#pragma clang loop unroll(disable)
  for (int32_t outer = 0; outer < k_outer; ++outer) {
    const uint32_t stage = ring->stage * stage_bytes;
    const local_bytes lhs = (local_bytes)(const void *)(lhs_base + lhs_offset) + stage;
    const local_bytes rhs = (local_bytes)(const void *)(rhs_base + rhs_offset) + stage;
    kdl_gpu_ring_wait_full(ring);
#pragma clang loop unroll(disable) /* registers hold the sums, and not the addresses of all steps  \
                                    */
    for (int32_t step = 0; step < intrinsics_k; ++step) {
      uint32_t lane = (uint32_t)__nvvm_read_ptx_sreg_laneid();
      __asm__ volatile("" : "+r"(lane)); /* or the addresses of all steps would take registers */
      const uint32_t line = lane / 4, k = 16 * (uint32_t)step + lane % 4 * 2;
      uint32_t a[most_m][4], b[2];
#pragma clang loop unroll(full)
      for (int32_t i = 0; i < intrinsics_m; ++i) {
        const uint32_t row = 16 * ((uint32_t)(i * subgroups_m) + at_m) + line;
        a[i][0] = load_pair(lhs, row, k, lhs_by_k);
        a[i][1] = load_pair(lhs, row + 8, k, lhs_by_k);
        a[i][2] = load_pair(lhs, row, k + 8, lhs_by_k);
        a[i][3] = load_pair(lhs, row + 8, k + 8, lhs_by_k);
      }
#pragma clang loop unroll(full)
      for (int32_t j = 0; j < intrinsics_n; ++j) {
        const uint32_t column = 8 * (at_n + (uint32_t)j) + line;
        b[0] = load_pair(rhs, column, k, rhs_by_k);
        b[1] = load_pair(rhs, column, k + 8, rhs_by_k);
#pragma clang loop unroll(full)
        for (int32_t i = 0; i < intrinsics_m; ++i)
          multiply(d + 4 * (i * intrinsics_n + j), a[i], b);
      }
    }
    __nvvm_bar_warp_sync(~0u); /* all lanes have read the stage */
    kdl_gpu_ring_release(ring, ring->stage);
    kdl_gpu_ring_next(ring);
  }
}

/* The image for sm_90a lets the caller fill the same panels by bulk copies. */
uint32_t kdl_uk_gpu_mma_f32_bf16_tile(int32_t size) {
  const uint32_t has_bulk = __CUDA_ARCH__ >= 900;
  switch (size) {
  case 0: /* 192 by 64 */
    return KDL_GPU_MMA_TILE(2, 8, 6, 1, 4, has_bulk);
  case 1: /* 64 by 192 */
    return KDL_GPU_MMA_TILE(2, 8, 2, 3, 4, has_bulk);
  default:
    return 0;
  }
}

/* Two stages, so that it runs on devices with 99 KiB of group memory, too. */
uint32_t kdl_uk_gpu_mma_f32_bf16_group_bytes(int32_t size) {
  return size < 2 ? 2 * (192 + 64) * panel_row : 0;
}

void kdl_uk_gpu_mma_f32_bf16_role(int32_t size, kdl_gpu_mma_role role) {
  (void)size, (void)role;
}
