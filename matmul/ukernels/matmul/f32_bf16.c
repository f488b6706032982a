/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of bf16, multiplied into one of f32. */
#include <stdint.h>

typedef uint16_t element, lhs_element, rhs_element;
typedef uint32_t element_part, rhs_word;
typedef float result;
enum { values = 2, has_bias = 0, lhs_is_a = 1 };
#define lhs_of(x) (x)
#define lhs_line(x) (x)
#define bias_of(sum) (sum)
#define microkernel kdl_uk_mma_f32_bf16
#define microkernel_tile kdl_uk_mma_f32_bf16_tile
#define microkernel_block kdl_uk_mma_f32_bf16_block
#define matmul_type KDL_MATMUL_F32_BF16
#define matmul_name kdl_matmul_f32_bf16
#define plain_name kdl_matmul_plain_f32_bf16
#define pack_name kdl_matmul_pack_f32_bf16
#define sum_name kdl_matmul_sum_f32_bf16
#define tile_name kdl_matmul_tile_f32_bf16
#include "matmul.h"
