/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes for any CPU. */
#include "block.h"
#include "generic.h"

enum { parts = 1, lhs_values = 4, rhs_values = 4 };
KDL_MMA_GENERIC_SUMS(int32_t)

typedef int32_t unaligned_words __attribute__((ext_vector_type(16), aligned(1)));
typedef sums vectors;
typedef const uint8_t *words;

static inline vectors load_vectors(const int8_t *rhs) {
  return *(const unaligned_words *)rhs;
}
static inline words splat(const uint8_t *lhs) {
  return lhs;
}
/* The byte of each lane, with its sign: to the top of the lane, and down again. Byte 0 is the
 * lowest on the little-endian machines that there are images for. */
static inline sums multiply(sums sum, words word, vectors vector) {
  for (int32_t byte = 0; byte < 4; ++byte)
    sum += (vector << (24 - 8 * byte) >> 24) * (int32_t)word[byte];
  return sum;
}

KDL_MMA_LOOP(kdl_uk_mma_s32_u8s8, uint8_t, int8_t, int32_t)

/* For 16 registers of 4 lanes. */
uint32_t kdl_uk_mma_s32_u8s8_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}

static inline int32_t byte_value(int8_t byte) {
  return byte;
}
KDL_MMA_BLOCK(kdl_uk_mma_s32_s8_block, int8_t, int32_t, lhs_values, byte_value)
