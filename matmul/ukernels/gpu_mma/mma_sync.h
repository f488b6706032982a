/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop over K of a tile with mma.sync, for sm_80 and later. A subgroup loads fragments of 16
 * rows and of 16 columns by 32 bytes of K from group memory with ldmatrix, and multiplies each of
 * its rows' with each of its columns'.
 *
 * What includes it defines:
 *     NAME, SYMBOL(suffix), ELEMENT, ACC   of the microkernel
 *     INSTRUCTION          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
 *     REGISTER             the constraint of an accumulator: "+f"
 *
 * ldmatrix transposes values of 2 bytes: only these can be operands by K.
 */
#include <kdl/gpu_mma.h>

enum {
  panel_row = kdl_gpu_mma_panel_bytes,
  block_bytes = 64 * panel_row, /* of an operand by K */
  chunk = 16,
  most_m = 4, /* fragments of a subgroup along M */
};

/* Four matrices of 8 lines by 16 bytes; lanes 8 q to 8 q + 7 have the addresses of the lines of
 * matrix q. */
KDL_GPU_INLINE void load_matrices(uint32_t *out, uint32_t address, int32_t is_by_k) {
  if (is_by_k)
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(address)
                     : "memory");
  else
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(address)
                     : "memory");
}

KDL_GPU_INLINE void multiply(ACC *d, const uint32_t *a, const uint32_t *b) {
  __asm__(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : REGISTER(d[0]), REGISTER(d[1]), REGISTER(d[2]), REGISTER(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Where a lane finds its line of the first fragment of its subgroup, in step 0. `first` is the
 * fragment's row (or column) in the tile.
 *
 *                  a fragment of 16 rows           two fragments of 8 columns
 *                    k 0   k 1                       k 0   k 1
 *     rows 0 to 7   | 0 | | 2 |      columns 0 to 7  | 0 | | 1 |     k 0, k 1: chunks of 16 bytes
 *          8 to 15  | 1 | | 3 |             8 to 15  | 2 | | 3 |     0 to 3: matrix, and register
 *
 * `upper` is 1 in lanes whose matrix has rows or columns 8 to 15, `later` is 1 in those whose
 * matrix has the second chunk of K. By K, a line is one k of 64 rows, and 8 of these are a chunk.
 */
KDL_GPU_INLINE uint32_t first_line(uint32_t first, uint32_t upper, uint32_t later, uint32_t line,
                                   int32_t is_by_k) {
  if (!is_by_k)
    return (first + 8 * upper + line) * panel_row + chunk * (later ^ line);
  return first / 64 * block_bytes + (8 * later + line) * panel_row +
         chunk * ((first % 64 / 8 + upper) ^ line);
}

/* The same for the fragment that begins `at` rows after the first one. The swizzle is an exclusive
 * or, so that a step, or a place among 64 rows, is one more: panels begin at multiples of 128. */
KDL_GPU_INLINE uint32_t line_address(uint32_t first, uint32_t at, uint32_t step, int32_t is_by_k) {
  if (!is_by_k)
    return (first ^ (2 * chunk * step)) + at * panel_row;
  return (first ^ (chunk * (at % 64 / 8))) + at / 64 * block_bytes + 16 * step * panel_row;
}

/* A stage. Fragments are loaded when those that they replace have been used: of the columns one
 * pair ahead, of the rows with the last columns of the step before. More of them would not fit into
 * registers with 128 sums. */
KDL_GPU_INLINE void multiply_stage(ACC *d, uint32_t lhs, uint32_t rhs, int32_t intrinsics_m,
                                   int32_t intrinsics_n, int32_t intrinsics_k, int32_t subgroups_m,
                                   int32_t layout) {
  const int32_t lhs_by_k = layout & KDL_GPU_MMA_LHS_BY_K;
  const int32_t rhs_by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const int32_t pairs = intrinsics_n / 2;
  uint32_t a[most_m][4], b[2][4];
  load_matrices(b[0], line_address(rhs, 0, 0, rhs_by_k), rhs_by_k);
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < intrinsics_m; ++i)
    load_matrices(a[i], line_address(lhs, 16 * (uint32_t)(i * subgroups_m), 0, lhs_by_k), lhs_by_k);
#pragma clang loop unroll(full)
  for (int32_t at = 0; at < pairs * intrinsics_k; ++at) {
    const int32_t step = at / pairs, next = at + 1, is_last = next % pairs == 0;
    const int32_t has_next = next < pairs * intrinsics_k;
    if (has_next)
      load_matrices(
          b[next % 2],
          line_address(rhs, 16 * (uint32_t)(next % pairs), (uint32_t)(next / pairs), rhs_by_k),
          rhs_by_k);
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < intrinsics_m; ++i) {
      ACC *sums = d + 4 * (i * intrinsics_n + 2 * (at % pairs));
      multiply(sums, a[i], b[at % 2]);
      multiply(sums + 4, a[i], b[at % 2] + 2);
      if (is_last && has_next)
        load_matrices(
            a[i], line_address(lhs, 16 * (uint32_t)(i * subgroups_m), (uint32_t)step + 1, lhs_by_k),
            lhs_by_k);
    }
  }
}

void NAME(KDL_GPU_MMA_PARAMETERS(ELEMENT, ACC)) {
  ACC *d = acc_base + acc_offset;
  uint32_t lane = (uint32_t)__nvvm_read_ptx_sreg_laneid();
  if (intrinsics_m > 1) /* many sums: addresses are computed for each tile, and not kept */
    __asm__ volatile("" : "+r"(lane));
  const uint32_t rows = (uint32_t)(16 * intrinsics_m * subgroups_m);
  const uint32_t columns = (uint32_t)(8 * intrinsics_n * subgroups_n);
  const uint32_t stage_bytes = (rows + columns) * panel_row;
  const uint32_t lhs = kdl_gpu_local_address(lhs_base + lhs_offset) +
                       first_line(16 * (uint32_t)(subgroup % subgroups_m), lane / 8 % 2, lane / 16,
                                  lane % 8, layout & KDL_GPU_MMA_LHS_BY_K);
  const uint32_t rhs = kdl_gpu_local_address(rhs_base + rhs_offset) +
                       first_line(8 * (uint32_t)(subgroup / subgroups_m * intrinsics_n), lane / 16,
                                  lane / 8 % 2, lane % 8, layout & KDL_GPU_MMA_RHS_BY_K);
#pragma clang loop unroll(disable)
  for (int32_t k = 0; k < k_outer; ++k) {
    const uint32_t at = ring->stage * stage_bytes;
    kdl_gpu_ring_wait_full(ring);
    multiply_stage(d, lhs + at, rhs + at, intrinsics_m, intrinsics_n, intrinsics_k, subgroups_m,
                   layout);
    __nvvm_bar_warp_sync(~0u); /* all lanes have read the stage */
    kdl_gpu_ring_release(ring, ring->stage);
    kdl_gpu_ring_next(ring);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Sizes                                                                                        */

/* Whether a group may have 163 KiB of group memory; else 99. */
KDL_GPU_INLINE int32_t has_large_memory(void) {
  const uint32_t arch = __nvvm_reflect("__CUDA_ARCH");
  return arch == 800 || arch == 870 || (arch >= 900 && arch < 1200);
}

/* With less group memory the largest tile is left out. */
uint32_t SYMBOL(_tile)(int32_t size) {
  switch (has_large_memory() ? size : size + 1) {
  case 0: /* 128 by 256 */
    return KDL_GPU_MMA_TILE(4, 8, 2, 4, 4, 0);
  case 1: /* 128 by 128 */
    return KDL_GPU_MMA_TILE(2, 8, 4, 2, 4, 0);
  case 2: /* 64 by 128 */
    return KDL_GPU_MMA_TILE(2, 8, 2, 2, 2, 0);
  case 3: /* 64 by 64 */
    return KDL_GPU_MMA_TILE(1, 8, 4, 1, 2, 0);
  default:
    return 0;
  }
}

uint32_t SYMBOL(_group_bytes)(int32_t size) {
  const int32_t is_large = has_large_memory();
  switch (is_large ? size : size + 1) {
  case 0:
    return 3 * (128 + 256) * panel_row;
  case 1:
    return (is_large ? 4u : 2u) * (128 + 128) * panel_row;
  case 2:
    return 3 * (64 + 128) * panel_row;
  case 3:
    return 4 * (64 + 64) * panel_row;
  default:
    return 0;
  }
}

/* All subgroups have as many registers as the launch gave them. */
void SYMBOL(_role)(int32_t size, kdl_gpu_mma_role role) {
  (void)size, (void)role;
}
