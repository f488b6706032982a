/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 for any CPU: the bits of a bf16 are the upper half of an f32. */
#include "block.h"
#include "generic.h"

enum { parts = 1, lhs_values = 2, rhs_values = 2 };
KDL_MMA_GENERIC_SUMS(float)

typedef uint32_t pairs __attribute__((ext_vector_type(16)));
typedef uint32_t unaligned_pairs __attribute__((ext_vector_type(16), aligned(2)));
typedef struct {
  sums even, odd;
} vectors;
typedef struct {
  float even, odd;
} words;

static inline vectors load_vectors(const kdl_bf16 *rhs) {
  pairs both = *(const unaligned_pairs *)rhs;
  return (vectors){__builtin_bit_cast(sums, both << 16),
                   __builtin_bit_cast(sums, both & 0xffff0000)};
}
static inline words splat(const kdl_bf16 *lhs) {
  return (words){kdl_mma_bf16_value(lhs[0]), kdl_mma_bf16_value(lhs[1])};
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return sum + word.even * vector.even + word.odd * vector.odd;
}

KDL_MMA_LOOP(kdl_uk_mma_f32_bf16, kdl_bf16, kdl_bf16, float)

/* For 16 registers of 4 lanes. */
uint32_t kdl_uk_mma_f32_bf16_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}

KDL_MMA_BLOCK(kdl_uk_mma_f32_bf16_block, kdl_bf16, float, lhs_values, kdl_mma_bf16_value)
