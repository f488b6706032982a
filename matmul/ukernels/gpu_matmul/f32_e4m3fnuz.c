/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of 8-bit floating-point numbers (e4m3 of gfx942, FNUZ), accumulated in f32. */
#include <stdint.h>

typedef uint8_t element;
typedef float acc_type;
enum { acc_is_integer = 0 };
#define HAS_BY_K 0
#define microkernel kdl_uk_gpu_mma_f32_e4m3fnuz
#define microkernel_tile kdl_uk_gpu_mma_f32_e4m3fnuz_tile
#define microkernel_group_bytes kdl_uk_gpu_mma_f32_e4m3fnuz_group_bytes
#define microkernel_role kdl_uk_gpu_mma_f32_e4m3fnuz_role
#define NAMED(suffix) kdl_gpu_matmul_f32_e4m3fnuz_##suffix
#include "amd.h"
