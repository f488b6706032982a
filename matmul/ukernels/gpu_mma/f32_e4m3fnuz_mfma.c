/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 8-bit floating-point numbers of gfx942 by MFMA. */
#define NAME kdl_uk_gpu_mma_f32_e4m3fnuz
#define SYMBOL(suffix) kdl_uk_gpu_mma_f32_e4m3fnuz##suffix
#define ELEMENT kdl_gpu_e4m3fnuz
#define ACC float
#define OPERAND long
#define MULTIPLY(a, b, sums) __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, sums, 0, 0, 0)
#include "amd.h"
