/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A microkernel of double precision, which libkdl does not have: a word is one double, a vector 16
 * of them. The layout is that of <kdl/mma.h>. provider.cpp gives it to kdl-data-tile.
 *
 *     clang -c -emit-llvm -O2 -march=x86-64-v3 -ffreestanding -I PREFIX/include mma_f64.c -o
 * mma_f64.bc
 */
#include <kdl/mma.h>

typedef double doubles __attribute__((ext_vector_type(16), aligned(8)));

KDL_MMA_UKERNEL void example_mma_f64(KDL_MMA_PARAMETERS(double, double, double)) {
  const double *lhs = lhs_base + lhs_offset, *rhs = rhs_base + rhs_offset;
  doubles *acc = (doubles *)(acc_base + acc_offset), sum[intrinsics_m][intrinsics_n];
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < intrinsics_n; ++n)
      sum[m][n] = acc[m * intrinsics_n + n];
  for (int32_t outer = 0; outer < k_outer; ++outer) {
    for (int32_t k = 0; k < intrinsics_k; ++k)
      for (int32_t m = 0; m < intrinsics_m; ++m)
        for (int32_t n = 0; n < intrinsics_n; ++n)
          sum[m][n] += lhs[m * intrinsics_k + k] * ((const doubles *)rhs)[k * intrinsics_n + n];
    lhs += intrinsics_m * intrinsics_k;
    rhs += intrinsics_n * intrinsics_k * kdl_mma_columns;
  }
  for (int32_t m = 0; m < intrinsics_m; ++m)
    for (int32_t n = 0; n < intrinsics_n; ++n)
      acc[m * intrinsics_n + n] = sum[m][n];
}
