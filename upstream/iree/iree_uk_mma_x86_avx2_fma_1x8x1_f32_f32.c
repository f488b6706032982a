// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Microkernel for `iree_codegen.inner_tiled` with an AVX2 and FMA intrinsic that
// multiplies one value of the LHS by eight of the RHS. It owns the loop over K of
// one tile of intrinsics_m by intrinsics_n intrinsics; these factors are constants
// of the caller that it is inlined into. Operands, in elements:
//   lhs[k_outer][intrinsics_m][intrinsics_k]
//   rhs[k_outer][intrinsics_n][intrinsics_k][8]
//   acc[intrinsics_m][acc_stride], 8 values for each of intrinsics_n

#include <immintrin.h>
#include <stdint.h>

__attribute__((always_inline)) void iree_uk_mma_x86_avx2_fma_1x8x1_f32_f32(
    const float *lhs_base, int64_t lhs_offset, const float *rhs_base,
    int64_t rhs_offset, float *acc_base, int64_t acc_offset, int64_t acc_stride,
    int32_t k_outer, int32_t intrinsics_m, int32_t intrinsics_n,
    int32_t intrinsics_k) {
  const float *lhs = lhs_base + lhs_offset;
  const float *rhs = rhs_base + rhs_offset;
  float *acc = acc_base + acc_offset;
  // As many accumulators as there are registers to keep them in.
  __m256 sums[12];
#pragma clang loop unroll(full)
  for (int m = 0; m < intrinsics_m; ++m)
#pragma clang loop unroll(full)
    for (int n = 0; n < intrinsics_n; ++n)
      sums[m * intrinsics_n + n] = _mm256_loadu_ps(acc + m * acc_stride + 8 * n);
  for (int32_t k = 0; k < k_outer; ++k) {
#pragma clang loop unroll(full)
    for (int i = 0; i < intrinsics_k; ++i)
#pragma clang loop unroll(full)
      for (int m = 0; m < intrinsics_m; ++m) {
        __m256 value = _mm256_broadcast_ss(lhs + m * intrinsics_k + i);
#pragma clang loop unroll(full)
        for (int n = 0; n < intrinsics_n; ++n)
          sums[m * intrinsics_n + n] = _mm256_fmadd_ps(
              value, _mm256_loadu_ps(rhs + (n * intrinsics_k + i) * 8),
              sums[m * intrinsics_n + n]);
      }
    lhs += intrinsics_m * intrinsics_k;
    rhs += intrinsics_n * intrinsics_k * 8;
  }
#pragma clang loop unroll(full)
  for (int m = 0; m < intrinsics_m; ++m)
#pragma clang loop unroll(full)
    for (int n = 0; n < intrinsics_n; ++n)
      _mm256_storeu_ps(acc + m * acc_stride + 8 * n, sums[m * intrinsics_n + n]);
}
