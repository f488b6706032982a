/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop over K of a tile with wgmma, for sm_90a. A warpgroup is four subgroups: it multiplies 64
 * rows of the tile with 256, 192, 128 or 64 columns in one instruction, from group memory into
 * registers.
 *
 * What includes it defines:
 *     NAME, SYMBOL(suffix), ELEMENT, ACC   of the microkernel
 *     TYPES                of the instruction: "f32.bf16.bf16"
 *     STEP                 the instruction's K: "k16"
 *     SCALES(a, b)         its operands after the predicate, with the bits for operands by K
 *     REGISTER             the constraint of an accumulator: "+f"
 *     HAS_BY_K             whether operands by K are possible
 */
#include <kdl/gpu_mma.h>

enum {
  warpgroup = 4, /* subgroups */
  panel_row = kdl_gpu_mma_panel_bytes,
  block_bytes = 64 * panel_row, /* of an operand by K */
};

/* The accumulators as operands: A16(d, 16) are d[16] to d[31]. */
#define A4(d, i) REGISTER(d[i]), REGISTER(d[i + 1]), REGISTER(d[i + 2]), REGISTER(d[i + 3])
#define A16(d, i) A4(d, i), A4(d, i + 4), A4(d, i + 8), A4(d, i + 12)
#define A32(d, i) A16(d, i), A16(d, i + 16)
#define A64(d) A32(d, 0), A32(d, 32)
#define A96(d) A64(d), A32(d, 64)
#define A128(d) A96(d), A32(d, 96)
#define R0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
#define R1 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define R2 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
#define R3 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define R4 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
#define R5 "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define R6 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
#define R7 "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

/* One instruction: accumulators += lhs * rhs. */
#define WGMMA(n, accumulators, registers, a, b, transposes)                                        \
  __asm__ volatile("{ .reg .pred adds; setp.eq.u32 adds, 0, 0;\n\t"                                \
                   "wgmma.mma_async.sync.aligned.m64n" #n STEP "." TYPES " {" registers "}, " a    \
                   ", " b ", adds" transposes "; }"                                                \
                   : accumulators                                                                  \
                   : "l"(lhs), "l"(rhs)                                                            \
                   : "memory")
#define WGMMA_OF_WIDTH(d, transposes)                                                              \
  do {                                                                                             \
    if (intrinsics_n == 32)                                                                        \
      WGMMA(256, A128(d), R0 R1 R2 R3 R4 R5 R6 R7, "%128", "%129", transposes);                    \
    else if (intrinsics_n == 24)                                                                   \
      WGMMA(192, A96(d), R0 R1 R2 R3 R4 R5, "%96", "%97", transposes);                             \
    else if (intrinsics_n == 16)                                                                   \
      WGMMA(128, A64(d), R0 R1 R2 R3, "%64", "%65", transposes);                                   \
    else                                                                                           \
      WGMMA(64, A32(d, 0), R0 R1, "%32", "%33", transposes);                                       \
  } while (0)

KDL_GPU_INLINE void multiply(ACC *d, uint64_t lhs, uint64_t rhs, int32_t intrinsics_n,
                             int32_t layout) {
  if (layout == 0)
    WGMMA_OF_WIDTH(d, SCALES("0", "0"));
#if HAS_BY_K
  else if (layout == KDL_GPU_MMA_LHS_BY_K)
    WGMMA_OF_WIDTH(d, SCALES("1", "0"));
  else if (layout == KDL_GPU_MMA_RHS_BY_K)
    WGMMA_OF_WIDTH(d, SCALES("0", "1"));
  else
    WGMMA_OF_WIDTH(d, SCALES("1", "1"));
#endif
}

/* Waits for all of the instructions. The accumulators are operands, so that the compiler reads none
 * of them before. */
KDL_GPU_INLINE void finish(ACC *d, int32_t intrinsics_n) {
#define FINISH(accumulators)                                                                       \
  __asm__ volatile("wgmma.wait_group.sync.aligned 0;" : accumulators : : "memory")
  if (intrinsics_n == 32)
    FINISH(A128(d));
  else if (intrinsics_n == 24)
    FINISH(A96(d));
  else if (intrinsics_n == 16)
    FINISH(A64(d));
  else
    FINISH(A32(d, 0));
}

/* A descriptor of an operand: address, distances in units of 16 bytes, and the swizzle of 128
 * bytes. Rows of K: groups of 8 rows are 1024 bytes apart. By K: so are groups of 8 k, and blocks
 * of 64 rows are block_bytes apart. */
KDL_GPU_INLINE uint64_t descriptor(uint32_t address, int32_t is_by_k) {
  uint64_t leading = is_by_k ? block_bytes / 16 : 1, stride = 8 * panel_row / 16;
  return (uint64_t)((address & 0x3ffff) >> 4) | leading << 16 | stride << 32 | (uint64_t)1 << 62;
}

void NAME(KDL_GPU_MMA_PARAMETERS(ELEMENT, ACC)) {
  ACC *d = acc_base + acc_offset;
  const int32_t lhs_by_k = layout & KDL_GPU_MMA_LHS_BY_K;
  const int32_t rhs_by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const uint32_t rows = (uint32_t)(16 * intrinsics_m * subgroups_m);
  const uint32_t columns = (uint32_t)(8 * intrinsics_n * subgroups_n);
  const uint32_t stage_bytes = (rows + columns) * panel_row;
  const uint32_t at_m = (uint32_t)(subgroup % subgroups_m) / warpgroup,
                 at_n = (uint32_t)(subgroup / subgroups_m);
  /* 64 rows or 64 columns are 64 panel_row bytes in either form of a panel. */
  const uint32_t lhs_first =
      kdl_gpu_local_address(lhs_base + lhs_offset) + at_m * 64 * (uint32_t)panel_row;
  const uint32_t rhs_first = kdl_gpu_local_address(rhs_base + rhs_offset) +
                             at_n * 8 * (uint32_t)intrinsics_n * (uint32_t)panel_row;
  const uint32_t lhs_step = lhs_by_k ? 16 * panel_row / 16 : 32 / 16;
  const uint32_t rhs_step = rhs_by_k ? 16 * panel_row / 16 : 32 / 16;
  uint32_t before = 0;
#pragma clang loop unroll(disable)
  for (int32_t k = 0; k < k_outer; ++k) {
    kdl_gpu_ring_wait_full(ring);
    uint32_t at = ring->stage * stage_bytes;
    uint64_t lhs = descriptor(lhs_first + at, lhs_by_k);
    uint64_t rhs = descriptor(rhs_first + at, rhs_by_k);
    __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma clang loop unroll(full)
    for (int32_t step = 0; step < intrinsics_k; ++step)
      multiply(d, lhs + (uint32_t)step * lhs_step, rhs + (uint32_t)step * rhs_step, intrinsics_n,
               layout);
    __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    /* All but the newest are done: the stage before has been read. */
    __asm__ volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    if (k)
      kdl_gpu_ring_release(ring, before);
    before = ring->stage;
    kdl_gpu_ring_next(ring);
  }
  finish(d, intrinsics_n);
  if (k_outer)
    kdl_gpu_ring_release(ring, before);
}

/* Two warpgroups of 64 rows each, then one; the first four subgroups copy. */
uint32_t SYMBOL(_tile)(int32_t size) {
  switch (size) {
  case 0: /* 128 by 256 */
    return KDL_GPU_MMA_TILE(1, 32, 8, 1, 4, 1);
  case 1: /* 128 by 192 */
    return KDL_GPU_MMA_TILE(1, 24, 8, 1, 4, 1);
  case 2: /* 128 by 128 */
    return KDL_GPU_MMA_TILE(1, 16, 8, 1, 4, 1);
  case 3: /* 64 by 256 */
    return KDL_GPU_MMA_TILE(1, 32, 4, 1, 4, 1);
  case 4: /* 64 by 128 */
    return KDL_GPU_MMA_TILE(1, 16, 4, 1, 4, 1);
  case 5: /* 64 by 64 */
    return KDL_GPU_MMA_TILE(1, 8, 4, 1, 4, 1);
  default:
    return 0;
  }
}

/* Up to 200 KiB for one group on a multiprocessor; 96 and less for two. */
uint32_t SYMBOL(_group_bytes)(int32_t size) {
  switch (size) {
  case 0:
    return 4 * (128 + 256) * panel_row;
  case 1:
    return 4 * (128 + 192) * panel_row;
  case 2:
    return 6 * (128 + 128) * panel_row;
  case 3:
    return 5 * (64 + 256) * panel_row;
  case 4:
    return 4 * (64 + 128) * panel_row;
  case 5:
    return 5 * (64 + 64) * panel_row;
  default:
    return 0;
  }
}

/* 384 threads have 168 registers each at first: 128 of them take 56, 256 take 224. A tile of one
 * warpgroup has enough. */
void SYMBOL(_role)(int32_t size, kdl_gpu_mma_role role) {
  if (size > 2)
    return;
  if (role == KDL_GPU_MMA_COPIES)
    __asm__ volatile("setmaxnreg.dec.sync.aligned.u32 56;");
  else
    __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 224;");
}
