/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of f32. */
#include <stdint.h>

typedef float element, lhs_element, rhs_element, result;
typedef uint32_t element_part, rhs_word;
enum { values = 1, has_bias = 0, lhs_is_a = 1 };
#define lhs_of(x) (x)
#define lhs_line(x) (x)
#define bias_of(sum) (sum)
#define microkernel kdl_uk_mma_f32_f32
#define microkernel_tile kdl_uk_mma_f32_f32_tile
#define matmul_type KDL_MATMUL_F32_F32
#define matmul_name kdl_matmul_f32_f32
#define plain_name kdl_matmul_plain_f32_f32
#define pack_name kdl_matmul_pack_f32_f32
#define sum_name kdl_matmul_sum_f32_f32
#define tile_name kdl_matmul_tile_f32_f32
#include "matmul.h"
