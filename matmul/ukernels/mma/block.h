/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A block by its definition, for whatever has no registers that are tiles. */
#ifndef KDL_MATMUL_UKERNELS_MMA_BLOCK_H
#define KDL_MATMUL_UKERNELS_MMA_BLOCK_H

#include <kdl/mma.h>

#define KDL_MMA_BLOCK(name, element_type, acc_type, values, value_of)                              \
  void name(KDL_MMA_BLOCK_PARAMETERS(element_type, acc_type)) {                                    \
    enum { panel = kdl_mma_block_vectors * kdl_mma_columns, height = kdl_mma_block_rows };         \
    (void)configured;                                                                              \
    for (int32_t row = 0; row < rows; ++row)                                                       \
      for (int32_t column = 0; column < columns; ++column) {                                       \
        const int32_t first = column / panel * panel, in_panel = column - first;                   \
        const int32_t width = columns - first > kdl_mma_columns ? panel : kdl_mma_columns;         \
        const int is_whole = row < rows / height * height;                                         \
        const element_type *left = lhs + row / height * lhs_tile + row % height * lhs_row;         \
        const element_type *right =                                                                \
            rhs + (first * rhs_words + rhs_first * width + in_panel) * (values);                   \
        acc_type sum = adds ? c[row * c_row + column] : 0;                                         \
        for (int32_t k = 0; k < lots * kdl_mma_steps * (values); ++k) {                            \
          int32_t word = k / (values), value = k % (values);                                       \
          int64_t lot = word / kdl_mma_steps * (is_whole ? lhs_lot : lhs_last_lot);                \
          sum += value_of(left[lot + word % kdl_mma_steps * (values) + value]) *                   \
                 value_of(right[word * width * (values) + value]);                                 \
        }                                                                                          \
        c[row * c_row + column] = sum;                                                             \
      }                                                                                            \
  }

#endif
