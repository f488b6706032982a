/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 8-bit floating-point numbers (e4m3) by WMMA: gfx12. */
#define NAME kdl_uk_gpu_mma_f32_e4m3
#define SYMBOL(suffix) kdl_uk_gpu_mma_f32_e4m3##suffix
#define ELEMENT kdl_gpu_e4m3
#define ACC float
#define OPERAND words
#define MULTIPLY(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, sums)
typedef int words __attribute__((vector_size(8)));
#include "amd.h"
