/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A block by its definition, for whatever has no registers that are tiles. */
#ifndef KDL_UKERNELS_MMA_BLOCK_H
#define KDL_UKERNELS_MMA_BLOCK_H

#include <kdl/mma.h>

#define KDL_MMA_BLOCK(name, element_type, acc_type, values, value_of)                              \
  void name(KDL_MMA_BLOCK_PARAMETERS(element_type, acc_type)) {                                    \
    enum { panel = kdl_mma_block_vectors * kdl_mma_columns };                                      \
    for (int32_t row = 0; row < rows; ++row)                                                       \
      for (int32_t column = 0; column < columns; ++column) {                                       \
        const int32_t first = column / panel * panel, in_panel = column - first;                   \
        const int32_t width = columns - first > kdl_mma_columns ? panel : kdl_mma_columns;         \
        const element_type *left =                                                                 \
            lhs + row / kdl_mma_block_rows * lhs_tile + row % kdl_mma_block_rows * lhs_row;        \
        const element_type *right =                                                                \
            rhs + (first * rhs_words + rhs_first * width + in_panel) * (values);                   \
        acc_type sum = adds ? c[row * c_row + column] : 0;                                         \
        for (int32_t k = 0; k < lots * kdl_mma_steps * (values); ++k) {                            \
          int32_t word = k / (values), value = k % (values);                                       \
          int64_t in_lot = word % kdl_mma_steps * (values) + value;                                \
          sum += value_of(left[word / kdl_mma_steps * lhs_lot + in_lot]) *                         \
                 value_of(right[word * width * (values) + value]);                                 \
        }                                                                                          \
        c[row * c_row + column] = sum;                                                             \
      }                                                                                            \
  }

#endif
