/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signed bytes by WMMA: gfx11 and gfx12. */
#define NAME kdl_uk_gpu_mma_s32_s8
#define SYMBOL(suffix) kdl_uk_gpu_mma_s32_s8##suffix
#define ELEMENT int8_t
#define ACC int32_t
#define OPERAND words
#ifdef __GFX11__
#define MULTIPLY(a, b, sums) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(1, a, 1, b, sums, 0)
typedef int words __attribute__((vector_size(16)));
#else
#define MULTIPLY(a, b, sums) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(1, a, 1, b, sums, 0)
typedef int words __attribute__((vector_size(8)));
#endif
#include "amd.h"
