/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The loop for instructions that multiply two rows with two columns, two words of each at a time
 * (BFMMLA, USMMLA). 128 bits of sums are then
 *
 *     row 0 column 0, row 0 column 1, row 1 column 0, row 1 column 1
 *
 * The columns of NEON's registers are neighbours; of SVE's, every other one. The file that includes
 * this has defined
 *
 *     quad, word_pairs             such sums; two words of two rows or columns
 *     parts                        registers in a row of a fragment
 *     held                         of these, how many are multiplied before the next are loaded
 *     values                       elements in a word
 *     load_quad, store_quad        sums of one row
 *     first_sums, second_sums      of an even and an odd row, the sums of half of their columns
 *     even_row, odd_row            of both sums, a row
 *     load_rows(first, second), load_words, zip_low, zip_high, multiply
 *     join_words                   four words as two of two rows
 *
 * Of an odd number of rows, the last is multiplied as two, and kept as one. Where intrinsics_k is
 * odd, as of operands that others tiled and of what is left of K, the words of two steps are joined
 * first.
 */
#ifndef KDL_MATMUL_UKERNELS_MMA_PAIRS_H
#define KDL_MATMUL_UKERNELS_MMA_PAIRS_H

#include <arm_neon.h>

#include <kdl/mma.h>

/* Defines quad and what is done with it, for NEON; `suffix` is that of its instructions. There are
 * fewer registers of rows than of columns: rows stay, and columns are loaded one by one. */
#define KDL_MMA_QUADS(type, element, suffix)                                                       \
  enum { parts = 4, held = 1 };                                                                    \
  typedef type quad;                                                                               \
  static inline quad load_quad(const element *acc) {                                               \
    return vld1q_##suffix(acc);                                                                    \
  }                                                                                                \
  static inline void store_quad(element *acc, quad sum) {                                          \
    vst1q_##suffix(acc, sum);                                                                      \
  }                                                                                                \
  static inline quad first_sums(quad a, quad b) {                                                  \
    return vcombine_##suffix(vget_low_##suffix(a), vget_low_##suffix(b));                          \
  }                                                                                                \
  static inline quad second_sums(quad a, quad b) {                                                 \
    return vcombine_##suffix(vget_high_##suffix(a), vget_high_##suffix(b));                        \
  }                                                                                                \
  static inline quad even_row(quad first, quad second) {                                           \
    return first_sums(first, second);                                                              \
  }                                                                                                \
  static inline quad odd_row(quad first, quad second) {                                            \
    return second_sums(first, second);                                                             \
  }

/* The sums of pairs of rows, in registers. */
#define KDL_MMA_PAIRS_BEGIN(acc)                                                                   \
  const int32_t width = intrinsics_n * parts, lanes = kdl_mma_columns / parts;                     \
  const int32_t pairs = (intrinsics_m + 1) / 2;                                                    \
  quad sum[pairs][width][2];                                                                       \
  for (int32_t m = 0; m < pairs; ++m)                                                              \
    for (int32_t n = 0; n < width; ++n) {                                                          \
      quad even = load_quad(acc + (2 * m * width + n) * lanes);                                    \
      int32_t next = 2 * m + 1 < intrinsics_m ? 2 * m + 1 : 2 * m;                                 \
      quad odd = load_quad(acc + (next * width + n) * lanes);                                      \
      sum[m][n][0] = first_sums(even, odd);                                                        \
      sum[m][n][1] = second_sums(even, odd);                                                       \
    }

#define KDL_MMA_PAIRS_END(acc)                                                                     \
  for (int32_t m = 0; m < pairs; ++m)                                                              \
    for (int32_t n = 0; n < width; ++n) {                                                          \
      store_quad(acc + (2 * m * width + n) * lanes, even_row(sum[m][n][0], sum[m][n][1]));         \
      if (2 * m + 1 < intrinsics_m)                                                                \
        store_quad(acc + ((2 * m + 1) * width + n) * lanes, odd_row(sum[m][n][0], sum[m][n][1]));  \
    }

/* Two steps. `rows` is what to multiply rows 2 * m and `next` with; `from` is where a register of
 * columns begins, and `behind` what the next step has there. */
#define KDL_MMA_PAIRS_STEPS(rhs_type, first_step, rows, behind)                                    \
  for (int32_t some = 0; some < width; some += held) {                                             \
    const int32_t count = width - some < held ? width - some : held;                               \
    word_pairs columns[held][2];                                                                   \
    for (int32_t n = 0; n < count; ++n) {                                                          \
      const rhs_type *from = rhs + ((first_step) * width + some + n) * lanes * values;             \
      word_pairs here = load_words(from), there = behind;                                          \
      columns[n][0] = zip_low(here, there);                                                        \
      columns[n][1] = zip_high(here, there);                                                       \
    }                                                                                              \
    for (int32_t m = 0; m < pairs; ++m) {                                                          \
      int32_t next = 2 * m + 1 < intrinsics_m ? 2 * m + 1 : 2 * m;                                 \
      word_pairs two_rows = rows;                                                                  \
      for (int32_t n = 0; n < count; ++n)                                                          \
        for (int32_t half = 0; half < 2; ++half)                                                   \
          sum[m][some + n][half] = multiply(sum[m][some + n][half], two_rows, columns[n][half]);   \
    }                                                                                              \
  }

/* Where the words of a row do not lie side by side by twos: the words of a step and of the next, or
 * zeros. */
#define KDL_MMA_PAIRS_WORD(row, of)                                                                \
  kdl_mma_word_s32(                                                                                \
      lhs + (((of) / intrinsics_k * intrinsics_m + (row)) * intrinsics_k + (of) % intrinsics_k) *  \
                values)
#define KDL_MMA_PAIRS_WORDS(has_next)                                                              \
  join_words((int32x4_t){                                                                          \
      KDL_MMA_PAIRS_WORD(2 * m, step), (has_next) ? KDL_MMA_PAIRS_WORD(2 * m, step + 1) : 0,       \
      KDL_MMA_PAIRS_WORD(next, step), (has_next) ? KDL_MMA_PAIRS_WORD(next, step + 1) : 0})

#define KDL_MMA_PAIRS(name, lhs_type, rhs_type, acc_type)                                          \
  static inline void name##_in_pairs(KDL_MMA_PARAMETERS(lhs_type, rhs_type, acc_type)) {           \
    const lhs_type *lhs = lhs_base + lhs_offset;                                                   \
    const rhs_type *rhs = rhs_base + rhs_offset;                                                   \
    acc_type *acc = acc_base + acc_offset;                                                         \
    KDL_MMA_PAIRS_BEGIN(acc);                                                                      \
    for (int32_t outer = 0; outer < k_outer; ++outer) {                                            \
      _Pragma("clang loop unroll(disable)") for (int32_t k = 0; k < intrinsics_k; k += 2){         \
          KDL_MMA_PAIRS_STEPS(rhs_type, k,                                                         \
                              load_rows(lhs + (2 * m * intrinsics_k + k) * values,                 \
                                        lhs + (next * intrinsics_k + k) * values),                 \
                              load_words(from + width * lanes * values))} lhs +=                   \
          intrinsics_m * intrinsics_k * values;                                                    \
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
      KDL_MMA_PAIRS_STEPS(rhs_type, step, KDL_MMA_PAIRS_WORDS(1),                                  \
                          load_words(from + width * lanes * values))                               \
    if (step < steps)                                                                              \
      KDL_MMA_PAIRS_STEPS(rhs_type, step, KDL_MMA_PAIRS_WORDS(0), join_words(vdupq_n_s32(0)))      \
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
