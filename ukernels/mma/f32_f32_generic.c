/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f32 for any CPU: vectors of 16 lanes, which the compiler divides among the registers there are.
 */
#include "loop.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
typedef float sums __attribute__((ext_vector_type(16)));
typedef float unaligned_sums __attribute__((ext_vector_type(16), aligned(4)));
typedef sums vectors;
typedef float words;

static inline sums load_sums(const float *acc) {
  return *(const unaligned_sums *)acc;
}
static inline void store_sums(float *acc, sums sum) {
  *(unaligned_sums *)acc = sum;
}
static inline vectors load_vectors(const float *rhs) {
  return *(const unaligned_sums *)rhs;
}
static inline words splat(const float *lhs) {
  return *lhs;
}
static inline sums multiply(sums sum, words word, vectors vector) {
  return sum + word * vector;
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f32, float, float, float)

/* For 16 registers of 4 lanes. */
uint32_t kdl_uk_mma_f32_f32_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}
