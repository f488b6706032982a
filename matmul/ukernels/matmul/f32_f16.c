/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of f16, multiplied into one of f32. */
#include <kdl/mma.h>

typedef uint16_t element, rhs_element, element_part, rhs_word;
typedef float lhs_element, result;
enum { values = 1, has_bias = 0, lhs_is_a = 0 };
#define lhs_of(x) kdl_mma_f16_value(x)
#define bias_of(sum) (sum)
#define microkernel kdl_uk_mma_f32_f16
#define microkernel_tile kdl_uk_mma_f32_f16_tile
#define matmul_type KDL_MATMUL_F32_F16
#define matmul_name kdl_matmul_f32_f16
#define plain_name kdl_matmul_plain_f32_f16
#define pack_name kdl_matmul_pack_f32_f16
#define sum_name kdl_matmul_sum_f32_f16
#define tile_name kdl_matmul_tile_f32_f16

/* kdl_mma_f16_value of 16 numbers. */
typedef uint16_t halves_line __attribute__((ext_vector_type(16)));
typedef uint32_t bits_line __attribute__((ext_vector_type(16)));
typedef float floats_line __attribute__((ext_vector_type(16)));
static inline bits_line lhs_line(halves_line halves) {
  bits_line bits = __builtin_convertvector(halves, bits_line);
  bits_line magnitude = (bits & 0x7fff) << 13;
  bits_line special = (bits_line)(magnitude >= 0x0f800000) & 0x7f800000;
  floats_line value = __builtin_bit_cast(floats_line, magnitude) * 0x1p112f;
  return __builtin_bit_cast(bits_line, value) | special | (bits & 0x8000) << 16;
}

#include "matmul.h"
