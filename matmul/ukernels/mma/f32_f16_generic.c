/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 for any CPU. */
#include "generic.h"

enum { parts = 1, lhs_values = 1, rhs_values = 1 };
KDL_MMA_GENERIC_SINGLE

typedef uint32_t bits __attribute__((ext_vector_type(16)));
typedef uint16_t halves __attribute__((ext_vector_type(16), aligned(2)));
/* Exponent and mantissa are moved to where f32 has them and scaled by the difference of the biases,
 * which also makes f16's subnormal numbers right; infinity and NaN keep their exponent of ones. */
static inline vectors load_vectors(const kdl_f16 *rhs) {
  bits half = __builtin_convertvector(*(const halves *)rhs, bits);
  bits magnitude = (half & 0x7fff) << 13;
  bits special = magnitude >= 0x0f800000 ? (bits)0x7f800000 : (bits)0;
  sums value = __builtin_bit_cast(sums, magnitude) * 0x1p112f;
  return __builtin_bit_cast(sums,
                            __builtin_bit_cast(bits, value) | special | (half & 0x8000) << 16);
}

KDL_MMA_LOOP(kdl_uk_mma_f32_f16, float, kdl_f16, float)

uint32_t kdl_uk_mma_f32_f16_tile(void) {
  return KDL_MMA_TILE(2, 1, 1);
}
