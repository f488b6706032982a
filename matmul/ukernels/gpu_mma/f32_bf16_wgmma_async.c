/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16, accumulated in f32, by wgmma for sm_90a: started and waited for. */
#include <kdl/gpu_mma_async.h>

#define SYMBOL(function) kdl_uk_gpu_mma_async_f32_bf16##function

enum {
  warpgroup = 4, /* subgroups */
  row_bytes = kdl_gpu_mma_panel_bytes,
  block_steps = kdl_gpu_mma_intrinsics_k, /* in 128 bytes of K */
};

/* The accumulators as operands: A16(c, d, 16) are d[16] to d[31] with the constraint c. */
#define A4(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define A16(c, d, i) A4(c, d, i), A4(c, d, i + 4), A4(c, d, i + 8), A4(c, d, i + 12)
#define A32(c, d) A16(c, d, 0), A16(c, d, 16)
#define A64(c, d) A32(c, d), A16(c, d, 32), A16(c, d, 48)
#define R32                                                                                        \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                         \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define R64                                                                                        \
  R32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                          \
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WRITTEN(value) "=f"(value)
#define CHANGED(value) "+f"(value)

/* One instruction. `adds` is "eq" if it adds to the accumulators, "ne" if it writes them. */
#define WGMMA(n, adds, accumulators, registers, a, b, transposes, ...)                             \
  __asm__ volatile("{ .reg .pred adds; setp." adds ".u32 adds, 0, 0;\n\t"                          \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" registers "}, " a  \
                   ", " b ", adds, 1, 1, " transposes "; }"                                        \
                   : accumulators                                                                  \
                   : __VA_ARGS__                                                                   \
                   : "memory")
#define WGMMA_OF_WIDTH(adds, c, d, transposes)                                                     \
  do {                                                                                             \
    if (intrinsics_n == 16)                                                                        \
      WGMMA(128, adds, A64(c, d), R64, "%64", "%65", transposes, "l"(lhs), "l"(rhs));              \
    else                                                                                           \
      WGMMA(64, adds, A32(c, d), R32, "%32", "%33", transposes, "l"(lhs), "l"(rhs));               \
  } while (0)

KDL_GPU_INLINE void multiply(float *d, uint64_t lhs, uint64_t rhs, int32_t intrinsics_n,
                             int32_t layout) {
  if (layout == 0)
    WGMMA_OF_WIDTH("eq", CHANGED, d, "0, 0");
  else if (layout == KDL_GPU_MMA_RHS_BY_K)
    WGMMA_OF_WIDTH("eq", CHANGED, d, "0, 1");
  else if (layout == KDL_GPU_MMA_FROM_ZERO)
    WGMMA_OF_WIDTH("ne", WRITTEN, d, "0, 0");
  else
    WGMMA_OF_WIDTH("ne", WRITTEN, d, "0, 1");
}

#define HELD(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(rhs)
#define WGMMA_HELD_OF_WIDTH(adds, c, d, a, transposes)                                             \
  do {                                                                                             \
    if (intrinsics_n == 16)                                                                        \
      WGMMA(128, adds, A64(c, d), R64, "{%64,%65,%66,%67}", "%68", transposes, HELD(a));           \
    else                                                                                           \
      WGMMA(64, adds, A32(c, d), R32, "{%32,%33,%34,%35}", "%36", transposes, HELD(a));            \
  } while (0)

KDL_GPU_INLINE void multiply_held(float *d, const uint32_t *a, uint64_t rhs, int32_t intrinsics_n,
                                  int32_t layout) {
  if (layout == 0)
    WGMMA_HELD_OF_WIDTH("eq", CHANGED, d, a, "0");
  else if (layout == KDL_GPU_MMA_RHS_BY_K)
    WGMMA_HELD_OF_WIDTH("eq", CHANGED, d, a, "1");
  else if (layout == KDL_GPU_MMA_FROM_ZERO)
    WGMMA_HELD_OF_WIDTH("ne", WRITTEN, d, a, "0");
  else
    WGMMA_HELD_OF_WIDTH("ne", WRITTEN, d, a, "1");
}

/* A descriptor of an operand: address, distances in units of 16 bytes, and the swizzle of 128
 * bytes. Groups of 8 rows are 1024 bytes apart, and by K, blocks of 64 values are `distance`. */
KDL_GPU_INLINE uint64_t descriptor(uint32_t address, uint32_t distance, int32_t is_by_k) {
  const uint64_t leading = is_by_k ? distance / 16 : 1, stride = 8 * row_bytes / 16;
  return (uint64_t)((address & 0x3ffff) >> 4) | leading << 16 | stride << 32 | (uint64_t)1 << 62;
}

/* Where a step begins, in units of 16 bytes after the first one. */
KDL_GPU_INLINE uint32_t step_at(int32_t step, uint32_t distance, int32_t is_by_k) {
  return is_by_k
             ? (uint32_t)step * 16 * row_bytes / 16
             : (uint32_t)(step / block_steps) * distance / 16 + (uint32_t)(step % block_steps) * 2;
}

KDL_GPU_INLINE void fence(void) {
  __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
KDL_GPU_INLINE void commit(void) {
  __asm__ volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

void SYMBOL(_start)(KDL_GPU_MMA_START_PARAMETERS(kdl_gpu_bf16, float)) {
  float *d = acc_base + acc_offset;
  const int32_t by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const uint32_t at_m = (uint32_t)(subgroup % subgroups_m) / warpgroup;
  const uint32_t lhs_bytes = (uint32_t)lhs_distance * 2, rhs_bytes = (uint32_t)rhs_distance * 2;
  const uint64_t lhs = descriptor(
      kdl_gpu_local_address(lhs_base + lhs_offset) + at_m * 64 * row_bytes, lhs_bytes, 0);
  const uint64_t rhs = descriptor(kdl_gpu_local_address(rhs_base + rhs_offset), rhs_bytes, by_k);
  fence();
#pragma clang loop unroll(full)
  for (int32_t step = 0; step < steps; ++step)
    multiply(d, lhs + step_at(step, lhs_bytes, 0), rhs + step_at(step, rhs_bytes, by_k),
             intrinsics_n, step ? by_k : layout);
  commit();
}

void SYMBOL(_start_held)(KDL_GPU_MMA_START_HELD_PARAMETERS(kdl_gpu_bf16, float)) {
  float *d = acc_base + acc_offset;
  const int32_t by_k = layout & KDL_GPU_MMA_RHS_BY_K;
  const uint32_t rhs_bytes = (uint32_t)rhs_distance * 2;
  const uint64_t rhs = descriptor(kdl_gpu_local_address(rhs_base + rhs_offset), rhs_bytes, by_k);
  fence();
#pragma clang loop unroll(full)
  for (int32_t step = 0; step < steps; ++step)
    multiply_held(d, held + 4 * step, rhs + step_at(step, rhs_bytes, by_k), intrinsics_n,
                  step ? by_k : layout);
  commit();
}

/* Two fragments of 16 by 8 sums are one of 16 by 16 of lhs, with the same rows in the same lanes.
 */
void SYMBOL(_hold)(const float *acc, uint32_t *held, int32_t intrinsics_n) {
#pragma clang loop unroll(full)
  for (int32_t i = 0; i < 2 * intrinsics_n; ++i)
    __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(held[i]) : "f"(acc[2 * i + 1]), "f"(acc[2 * i]));
}

/* The accumulators are operands, so that the compiler reads none of them before. */
void SYMBOL(_wait)(float *acc, int32_t intrinsics_n, int32_t pending) {
#define WAIT(accumulators)                                                                         \
  do {                                                                                             \
    if (pending)                                                                                   \
      __asm__ volatile("wgmma.wait_group.sync.aligned 1;" : accumulators : : "memory");            \
    else                                                                                           \
      __asm__ volatile("wgmma.wait_group.sync.aligned 0;" : accumulators : : "memory");            \
  } while (0)
  if (intrinsics_n == 16)
    WAIT(A64(CHANGED, acc));
  else
    WAIT(A32(CHANGED, acc));
}

/* 128 or 192 rows by 128 columns: two or three warpgroups; the first four subgroups copy. */
uint32_t SYMBOL(_tile)(int32_t columns) {
  switch (columns) {
  case 64:
    return KDL_GPU_MMA_TILE(1, 16, 12, 1, 4, 1);
  case 128:
    return KDL_GPU_MMA_TILE(1, 16, 8, 1, 4, 1);
  default:
    return 0;
  }
}

/* Two stages of both operands for 128 columns, four for 64: 128 KiB. */
uint32_t SYMBOL(_group_bytes)(int32_t columns) {
  return columns == 64 || columns == 128 ? 2 * 2 * 128 * 256 : 0;
}

/* 384 threads have 168 registers each at first, 512 have 128. */
void SYMBOL(_role)(int32_t columns, kdl_gpu_mma_role role) {
  if (role == KDL_GPU_MMA_COPIES)
    __asm__ volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else if (columns == 64)
    __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 160;");
  else
    __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}
