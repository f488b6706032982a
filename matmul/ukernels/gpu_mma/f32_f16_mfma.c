/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16 by MFMA: gfx90a and later CDNA. */
#define NAME kdl_uk_gpu_mma_f32_f16
#define SYMBOL(suffix) kdl_uk_gpu_mma_f32_f16##suffix
#define ELEMENT kdl_gpu_f16
#define ACC float
#define OPERAND four
#define MULTIPLY(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sums, 0, 0, 0)
typedef _Float16 four __attribute__((vector_size(8)));
#include "amd.h"
