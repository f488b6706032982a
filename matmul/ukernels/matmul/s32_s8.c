/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of s8, multiplied into one of s32. The instructions for bytes multiply unsigned by
 * signed ones: the left operand is packed as x + 128, and 128 times the sum of each column of the
 * right one is taken off again. Blocks multiply signed ones. */
#include <stdint.h>

typedef int8_t element, rhs_element;
typedef uint8_t lhs_element;
typedef uint32_t element_part, rhs_word;
typedef int32_t result;
enum { values = 4 };
#define lhs_is_a (microkernel_tile() >> 16 == kdl_mma_steps)
#define has_bias !lhs_is_a
#define lhs_of(x) ((uint8_t)((x) + (has_bias ? 128 : 0)))
#define lhs_line(x) ((x) ^ (has_bias ? 0x80808080 : 0))
#define bias_of(sum) (-128 * (sum))
#define microkernel kdl_uk_mma_s32_u8s8
#define microkernel_tile kdl_uk_mma_s32_u8s8_tile
#define microkernel_block kdl_uk_mma_s32_s8_block
#define matmul_type KDL_MATMUL_S32_S8
#define matmul_name kdl_matmul_s32_s8
#define plain_name kdl_matmul_plain_s32_s8
#define pack_name kdl_matmul_pack_s32_s8
#define sum_name kdl_matmul_sum_s32_s8
#define tile_name kdl_matmul_tile_s32_s8
#include "matmul.h"
