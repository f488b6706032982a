/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signed bytes by MFMA: 16 of K at a time on gfx90a, 32 on later CDNA. */
#define NAME kdl_uk_gpu_mma_s32_s8
#define SYMBOL(suffix) kdl_uk_gpu_mma_s32_s8##suffix
#define ELEMENT int8_t
#define ACC int32_t
#ifdef __gfx90a__
#define OPERAND int
#define MULTIPLY(a, b, sums) __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, sums, 0, 0, 0)
#else
#define OPERAND long
#define MULTIPLY(a, b, sums) __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, sums, 0, 0, 0)
#endif
#include "amd.h"
