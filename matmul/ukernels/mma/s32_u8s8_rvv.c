/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with the vectors of RISC-V: those of a vector are widened once for all rows. */
#include "generic.h"

enum { parts = 1, lhs_values = 4, rhs_values = 4 };
KDL_MMA_GENERIC_SUMS(int32_t)

typedef int32_t unaligned_words __attribute__((ext_vector_type(16), aligned(1)));
typedef struct {
  sums byte[4];
} vectors;
typedef const uint8_t *words;

static inline vectors load_vectors(const int8_t *rhs) {
  sums word = *(const unaligned_words *)rhs;
  return (vectors){{word << 24 >> 24, word << 16 >> 24, word << 8 >> 24, word >> 24}};
}
static inline words splat(const uint8_t *lhs) {
  return lhs;
}
static inline sums multiply(sums sum, words word, vectors vector) {
  for (int32_t i = 0; i < 4; ++i)
    sum += vector.byte[i] * (int32_t)word[i];
  return sum;
}

KDL_MMA_LOOP(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

/* Three fragments and a vector in four parts: 7 of 8 groups of registers. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(3, 1, 1);
}
