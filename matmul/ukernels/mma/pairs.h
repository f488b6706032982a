/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop for instructions that multiply two rows with two columns, two words of each at a time
 * (BFMMLA, USMMLA). A register of sums is then
 *
 *     row 0 column 0, row 0 column 1, row 1 column 0, row 1 column 1
 *
 * The file that includes this has defined
 *
 *     quad, word_pairs             four sums; two words of two rows or columns
 *     values                       elements in a word
 *     load_quad, store_quad, low_halves, high_halves
 *     load_rows(first, second), load_words, zip_low, zip_high, multiply
 *     join_words                   four words as two of two rows
 *
 * Of an odd number of rows, the last is multiplied as two, and kept as one. Where intrinsics_k is
 * odd, as of operands that others tiled and of what is left of K, the words of two steps are joined
 * first.
 */
#ifndef KDL_UKERNELS_MMA_PAIRS_H
#define KDL_UKERNELS_MMA_PAIRS_H

#include <arm_neon.h>

#include <kdl/mma.h>

/* Defines quad and what is done with it; `suffix` is that of its instructions. */
#define KDL_MMA_QUADS(type, element, suffix)                                                       \
  typedef type quad;                                                                               \
  static inline quad load_quad(const element *acc) {                                               \
    return vld1q_##suffix(acc);                                                                    \
  }                                                                                                \
  static inline void store_quad(element *acc, quad sum) {                                          \
    vst1q_##suffix(acc, sum);                                                                      \
  }                                                                                                \
  static inline quad low_halves(quad a, quad b) {                                                  \
    return vcombine_##suffix(vget_low_##suffix(a), vget_low_##suffix(b));                          \
  }                                                                                                \
  static inline quad high_halves(quad a, quad b) {                                                 \
    return vcombine_##suffix(vget_high_##suffix(a), vget_high_##suffix(b));                        \
  }

/* The sums of pairs of rows, in registers. */
#define KDL_MMA_PAIRS_BEGIN(acc)                                                                   \
  const int32_t width = intrinsics_n * 4, pairs = (intrinsics_m + 1) / 2;                          \
  quad sum[pairs][width][2];                                                                       \
  word_pairs rows[pairs];                                                                          \
  for (int32_t m = 0; m < pairs; ++m)                                                              \
    for (int32_t n = 0; n < width; ++n) {                                                          \
      quad even = load_quad(acc + (2 * m * width + n) * 4);                                        \
      int32_t next = 2 * m + 1 < intrinsics_m ? 2 * m + 1 : 2 * m;                                 \
      quad odd = load_quad(acc + (next * width + n) * 4);                                          \
      sum[m][n][0] = low_halves(even, odd);                                                        \
      sum[m][n][1] = high_halves(even, odd);                                                       \
    }

#define KDL_MMA_PAIRS_END(acc)                                                                     \
  for (int32_t m = 0; m < pairs; ++m)                                                              \
    for (int32_t n = 0; n < width; ++n) {                                                          \
      store_quad(acc + (2 * m * width + n) * 4, low_halves(sum[m][n][0], sum[m][n][1]));           \
      if (2 * m + 1 < intrinsics_m)                                                                \
        store_quad(acc + ((2 * m + 1) * width + n) * 4, high_halves(sum[m][n][0], sum[m][n][1]));  \
    }

/* Where the words of a row do not lie side by side by twos: the words of a step and of the next, or
 * zeros. */
#define KDL_MMA_PAIRS_WORD(row, of)                                                                \
  kdl_mma_word_s32(                                                                                \
      lhs + (((of) / intrinsics_k * intrinsics_m + (row)) * intrinsics_k + (of) % intrinsics_k) *  \
                values)
#define KDL_MMA_PAIRS_STEP(rhs_type, has_next)                                                     \
  do {                                                                                             \
    for (int32_t m = 0; m < pairs; ++m) {                                                          \
      int32_t next = 2 * m + 1 < intrinsics_m ? 2 * m + 1 : 2 * m;                                 \
      int32x4_t four = {                                                                           \
          KDL_MMA_PAIRS_WORD(2 * m, step), (has_next) ? KDL_MMA_PAIRS_WORD(2 * m, step + 1) : 0,   \
          KDL_MMA_PAIRS_WORD(next, step), (has_next) ? KDL_MMA_PAIRS_WORD(next, step + 1) : 0};    \
      rows[m] = join_words(four);                                                                  \
    }                                                                                              \
    for (int32_t n = 0; n < width; ++n) {                                                          \
      const rhs_type *from =                                                                       \
          rhs + ((step * intrinsics_n + n / 4) * kdl_mma_columns + n % 4 * 4) * values;            \
      word_pairs here = load_words(from);                                                          \
      word_pairs behind =                                                                          \
          (has_next) ? load_words(from + width * 4 * values) : join_words(vdupq_n_s32(0));         \
      for (int32_t m = 0; m < pairs; ++m) {                                                        \
        sum[m][n][0] = multiply(sum[m][n][0], rows[m], zip_low(here, behind));                     \
        sum[m][n][1] = multiply(sum[m][n][1], rows[m], zip_high(here, behind));                    \
      }                                                                                            \
    }                                                                                              \
  } while (0)

#define KDL_MMA_PAIRS(name, lhs_type, rhs_type, acc_type)                                          \
  static inline void name##_in_pairs(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {           \
    const lhs_type *lhs = lhs_base + lhs_offset;                                                   \
    const rhs_type *rhs = rhs_base + rhs_offset;                                                   \
    acc_type *acc = acc_base + acc_offset;                                                         \
    KDL_MMA_PAIRS_BEGIN(acc);                                                                      \
    for (int32_t outer = 0; outer < k_outer; ++outer) {                                            \
      _Pragma("clang loop unroll(disable)") for (int32_t k = 0; k < intrinsics_k; k += 2) {        \
        for (int32_t m = 0; m < pairs; ++m) {                                                      \
          int32_t next = 2 * m + 1 < intrinsics_m ? 2 * m + 1 : 2 * m;                             \
          rows[m] = load_rows(lhs + (2 * m * intrinsics_k + k) * values,                           \
                              lhs + (next * intrinsics_k + k) * values);                           \
        }                                                                                          \
        for (int32_t n = 0; n < width; ++n) {                                                      \
          const rhs_type *from =                                                                   \
              rhs + ((k * intrinsics_n + n / 4) * kdl_mma_columns + n % 4 * 4) * values;           \
          word_pairs here = load_words(from);                                                      \
          word_pairs behind = load_words(from + width * 4 * values);                               \
          for (int32_t m = 0; m < pairs; ++m) {                                                    \
            sum[m][n][0] = multiply(sum[m][n][0], rows[m], zip_low(here, behind));                 \
            sum[m][n][1] = multiply(sum[m][n][1], rows[m], zip_high(here, behind));                \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
      lhs += intrinsics_m * intrinsics_k * values;                                                 \
      rhs += intrinsics_n * intrinsics_k * kdl_mma_columns * values;                               \
    }                                                                                              \
    KDL_MMA_PAIRS_END(acc);                                                                        \
  }                                                                                                \
  static inline void name##_in_steps(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {           \
    const lhs_type *lhs = lhs_base + lhs_offset;                                                   \
    const rhs_type *rhs = rhs_base + rhs_offset;                                                   \
    acc_type *acc = acc_base + acc_offset;                                                         \
    const int64_t steps = (int64_t)k_outer * intrinsics_k;                                         \
    KDL_MMA_PAIRS_BEGIN(acc);                                                                      \
    int64_t step = 0;                                                                              \
    for (; step + 1 < steps; step += 2)                                                            \
      KDL_MMA_PAIRS_STEP(rhs_type, 1);                                                             \
    if (step < steps)                                                                              \
      KDL_MMA_PAIRS_STEP(rhs_type, 0);                                                             \
    KDL_MMA_PAIRS_END(acc);                                                                        \
  }                                                                                                \
  void name(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {                                    \
    if (intrinsics_k % 2)                                                                          \
      name##_in_steps(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,   \
                      intrinsics_m, intrinsics_n, intrinsics_k);                                   \
    else                                                                                           \
      name##_in_pairs(lhs_base, lhs_offset, rhs_base, rhs_offset, acc_base, acc_offset, k_outer,   \
                      intrinsics_m, intrinsics_n, intrinsics_k);                                   \
  }

#endif
