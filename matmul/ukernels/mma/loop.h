/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop that microkernels with ordinary registers share. The file that includes it has defined
 *
 *     sums, vectors, words    what registers hold: part of a fragment, of a vector, a word per lane
 *     parts                   registers in a fragment and in a vector
 *     lhs_values, rhs_values  elements in a word, and in one column of a vector
 *     load_sums, store_sums, load_vectors, splat, multiply
 *
 * and gives the name of the function and its element types.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_LOOP_H
#define KDL_MATMUL_UKERNELS_MMA_LOOP_H

#include <kdl/mma.h>

/* A tile of so many rows fetches its operands into L1 before it loads them: those of the next step
 * block on the left, of which a line goes with each step, and vectors so many bytes ahead. Tiles of
 * fewer rows wait for memory, and the CPU itself fetches what comes. */
#ifndef KDL_MMA_FETCHING_ROWS
#define KDL_MMA_FETCHING_ROWS INT32_MAX
#endif
#define KDL_MMA_FETCH(next_lhs, vectors_of_step)                                                   \
  do {                                                                                             \
    enum { line = 64, ahead = 1024 };                                                              \
    for (int32_t n = 0; n < width; n += parts)                                                     \
      __builtin_prefetch((const char *)(vectors_of_step) + n / parts * line + ahead, 0, 3);        \
    if (intrinsics_k == kdl_mma_steps)                                                             \
      __builtin_prefetch((const char *)(next_lhs) + k * line, 0, 3);                               \
  } while (0)

/* Where LLVM takes the steps for too many to unroll the loop over rows, so that sums would stay in
 * memory. */
#ifndef KDL_MMA_UNROLLED
#define KDL_MMA_UNROLLED
#endif

/* The loop over intrinsics_k stays a loop: unrolled sixteen times, its words would be loaded ahead
 * into registers that there are not. */
#define KDL_MMA_LOOP(name, lhs_type, rhs_type, acc_type)                                           \
  void name(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {                                    \
    const lhs_type *lhs = lhs_base + lhs_offset;                                                   \
    const rhs_type *rhs = rhs_base + rhs_offset;                                                   \
    acc_type *acc = acc_base + acc_offset;                                                         \
    const int32_t width = intrinsics_n * parts, lanes = kdl_mma_columns / parts;                   \
    sums sum[intrinsics_m][width];                                                                 \
    vectors vector[width];                                                                         \
    for (int32_t m = 0; m < intrinsics_m; ++m)                                                     \
      for (int32_t n = 0; n < width; ++n)                                                          \
        sum[m][n] = load_sums(acc + (m * width + n) * lanes);                                      \
    for (int32_t outer = 0; outer < k_outer; ++outer) {                                            \
      _Pragma("clang loop unroll(disable)") for (int32_t k = 0; k < intrinsics_k; ++k) {           \
        if (intrinsics_m >= KDL_MMA_FETCHING_ROWS)                                                 \
          KDL_MMA_FETCH(lhs + intrinsics_m * intrinsics_k * lhs_values,                            \
                        rhs + k * intrinsics_n * kdl_mma_columns * rhs_values);                    \
        for (int32_t n = 0; n < width; ++n)                                                        \
          vector[n] = load_vectors(                                                                \
              rhs + ((k * intrinsics_n + n / parts) * kdl_mma_columns + n % parts * lanes) *       \
                        rhs_values);                                                               \
        KDL_MMA_UNROLLED for (int32_t m = 0; m < intrinsics_m; ++m) {                              \
          words word = splat(lhs + (m * intrinsics_k + k) * lhs_values);                           \
          for (int32_t n = 0; n < width; ++n)                                                      \
            sum[m][n] = multiply(sum[m][n], word, vector[n]);                                      \
        }                                                                                          \
      }                                                                                            \
      lhs += intrinsics_m * intrinsics_k * lhs_values;                                             \
      rhs += intrinsics_n * intrinsics_k * kdl_mma_columns * rhs_values;                           \
    }                                                                                              \
    for (int32_t m = 0; m < intrinsics_m; ++m)                                                     \
      for (int32_t n = 0; n < width; ++n)                                                          \
        store_sums(acc + (m * width + n) * lanes, sum[m][n]);                                      \
  }

#endif
