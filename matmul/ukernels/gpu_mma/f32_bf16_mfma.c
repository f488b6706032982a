/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16 by MFMA: gfx90a and later CDNA. */
#define NAME kdl_uk_gpu_mma_f32_bf16
#define SYMBOL(suffix) kdl_uk_gpu_mma_f32_bf16##suffix
#define ELEMENT kdl_gpu_bf16
#define ACC float
#define OPERAND four
#define MULTIPLY(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, sums, 0, 0, 0)
typedef short four __attribute__((vector_size(8)));
#include "amd.h"
