/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A stage of a tile with AMD's matrix instructions: MFMA on gfx90a and gfx942, WMMA on gfx11 and
 * gfx12. A subgroup loads lines of its rows and columns from group memory, 16 bytes at a time, and
 * multiplies each of its rows' with each of its columns'.
 *
 * What includes it defines:
 *     NAME, SYMBOL(suffix), ELEMENT, ACC   of the microkernel
 *     OPERAND                a lane's part of an operand of the instruction
 *     MULTIPLY(a, b, sums)   the instruction
 *
 * Lane l has row (or column) l % 16. Where the 16-lane parts of a subgroup have different K, they
 * load neighbouring chunks, and one chunk is operands of several instructions: then an
 * instruction's K are not neighbours, but they are the same ones for rows and columns.
 */
#include <kdl/gpu_mma.h>

#ifdef __GFX9__
enum { parts_of_k = 4, chunks = 1 };
#elif defined(__GFX11__)
enum { parts_of_k = 1, chunks = 2 }; /* both halves of a subgroup have the same operands */
#else
enum { parts_of_k = 2, chunks = 1 };
#endif

enum {
  panel_row = kdl_gpu_mma_panel_bytes,
  chunk_bytes = 16,
  unit_bytes = parts_of_k * chunks * chunk_bytes, /* of K, that a subgroup loads at a time */
  most_fragments = 4,                             /* of a subgroup along M, and along N */
  values = kdl_gpu_mma_values,
};

typedef uint32_t chunk __attribute__((vector_size(chunk_bytes)));
typedef ACC fragment __attribute__((vector_size(values * sizeof(ACC))));
typedef const __attribute__((address_space(3))) uint8_t *local_bytes;
typedef struct {
  chunk of[chunks];
} line;

KDL_GPU_INLINE uint32_t lane_id(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

/* A lane's chunks of the fragment that begins at a row (or column) of the panel. */
KDL_GPU_INLINE line load_line(local_bytes panel, uint32_t row, uint32_t unit, uint32_t lane) {
  const uint32_t first = (unit * parts_of_k + lane / 16 % parts_of_k) * chunks;
  const uint32_t at = row + lane % 16;
  line loaded;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < chunks; ++i)
    loaded.of[i] = *(const __attribute__((address_space(3)))
                     chunk *)(panel + at * panel_row + chunk_bytes * ((first + i) ^ (at % 8)));
  return loaded;
}

/* Of a subgroup. */
typedef struct {
  line a[most_fragments], b[most_fragments];
} lines_of_unit;

KDL_GPU_INLINE void load_lines(lines_of_unit *lines, local_bytes lhs, local_bytes rhs,
                               uint32_t unit, uint32_t lane, uint32_t row, uint32_t column,
                               int32_t intrinsics_m, int32_t intrinsics_n, int32_t subgroups_m) {
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < intrinsics_m; ++i)
    lines->a[i] = load_line(lhs, row + 16 * (uint32_t)(i * subgroups_m), unit, lane);
#pragma clang loop unroll(full)
  for (int32_t j = 0; j < intrinsics_n; ++j)
    lines->b[j] = load_line(rhs, column + 16 * (uint32_t)j, unit, lane);
}

KDL_GPU_INLINE void multiply(ACC *d, const line *a, const line *b) {
  fragment sums;
  __builtin_memcpy(&sums, d, sizeof sums);
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < sizeof(line) / sizeof(OPERAND); ++i) {
    OPERAND x, y;
    __builtin_memcpy(&x, (const char *)a + i * sizeof x, sizeof x);
    __builtin_memcpy(&y, (const char *)b + i * sizeof y, sizeof y);
    sums = MULTIPLY(x, y, sums);
  }
  __asm__ volatile("" : "+v"(sums)); /* or multiplying would move behind what the caller stores */
  __builtin_memcpy(d, &sums, sizeof sums);
}

void NAME(KDL_GPU_MMA_PARAMETERS(ELEMENT, ACC)) {
  ACC *d = acc_base + acc_offset;
  const uint32_t lane = lane_id();
  const uint32_t rows = (uint32_t)(16 * intrinsics_m * subgroups_m);
  const uint32_t columns = (uint32_t)(16 * intrinsics_n * subgroups_n);
  const uint32_t row = 16 * (uint32_t)(subgroup % subgroups_m);
  const uint32_t column = 16 * (uint32_t)(subgroup / subgroups_m * intrinsics_n);
  const local_bytes lhs = (local_bytes)(const void *)(lhs_base + lhs_offset);
  const local_bytes rhs = (local_bytes)(const void *)(rhs_base + rhs_offset);
  const uint32_t units = (uint32_t)intrinsics_k * 32 / unit_bytes;
  lines_of_unit lines[2];
  (void)layout;
#pragma clang loop unroll(disable)
  for (int32_t k = 0; k < k_outer; ++k) {
    const uint32_t at = ring->stage * (rows + columns) * panel_row;
    kdl_gpu_ring_wait_full(ring);
#pragma clang loop unroll(full)
    for (uint32_t unit = 0; unit < units; ++unit) {
      /* The next lines are loaded while these are multiplied, if all fit into registers. */
      const uint32_t first = unit && chunks == 1 ? unit + 1 : unit;
      const uint32_t end = chunks == 1 ? unit + 2 : unit + 1;
#pragma clang loop unroll(full)
      for (uint32_t next = first; next < end && next < units; ++next)
        load_lines(&lines[next % 2], lhs + at, rhs + at, next, lane, row, column, intrinsics_m,
                   intrinsics_n, subgroups_m);
#pragma clang loop unroll(full)
      for (int32_t i = 0; i < intrinsics_m; ++i)
#pragma clang loop unroll(full)
        for (int32_t j = 0; j < intrinsics_n; ++j)
          multiply(d + values * (i * intrinsics_n + j), &lines[unit % 2].a[i],
                   &lines[unit % 2].b[j]);
      __builtin_amdgcn_sched_barrier(0);
    }
    kdl_gpu_ring_release(ring, ring->stage);
    kdl_gpu_ring_next(ring);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Sizes                                                                                        */

/* Two stages of the largest are the 64 KiB that a group may have on all of them. Its subgroups are
 * then two on each SIMD of gfx9: one multiplies while the other copies. */
uint32_t SYMBOL(_tile)(int32_t size) {
  switch (size) {
  case 0: /* 128 by 128 */
    return KDL_GPU_MMA_TILE(2, 4, 4, 2, 0, 0);
  case 1: /* 64 by 128 */
    return kdl_gpu_mma_lanes == 64 ? KDL_GPU_MMA_TILE(2, 4, 2, 2, 0, 0)
                                   : KDL_GPU_MMA_TILE(2, 2, 2, 4, 0, 0);
  case 2: /* 64 by 64 */
    return KDL_GPU_MMA_TILE(2, 2, 2, 2, 0, 0);
  default:
    return 0;
  }
}

uint32_t SYMBOL(_group_bytes)(int32_t size) {
  return 2 * (uint32_t)KDL_GPU_MMA_STAGE_BYTES(SYMBOL(_tile)(size));
}

/* Registers belong to a subgroup from its start to its end. */
void SYMBOL(_role)(int32_t size, kdl_gpu_mma_role role) {
  (void)size, (void)role;
}
