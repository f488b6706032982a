/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 by WMMA: gfx11 and gfx12. */
#define NAME kdl_uk_gpu_mma_f32_bf16
#define SYMBOL(suffix) kdl_uk_gpu_mma_f32_bf16##suffix
#define ELEMENT kdl_gpu_bf16
#define ACC float
#define OPERAND several
#ifdef __GFX11__
#define MULTIPLY(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, sums)
typedef short several __attribute__((vector_size(32)));
#else
#define MULTIPLY(a, b, sums) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, sums)
typedef short several __attribute__((vector_size(16)));
#endif
#include "amd.h"
