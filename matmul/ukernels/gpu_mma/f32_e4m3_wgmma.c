/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* 8-bit floating-point numbers with 3 bits of mantissa, accumulated in f32. */
#define NAME kdl_uk_gpu_mma_f32_e4m3
#define SYMBOL(function) kdl_uk_gpu_mma_f32_e4m3##function
#define ELEMENT kdl_gpu_e4m3
#define ACC float
#define TYPES "f32.e4m3.e4m3"
#define STEP "k32"
#define SCALES(a, b) ", 1, 1"
#define REGISTER(value) "+f"(value)
#define HAS_BY_K 0
#include "wgmma.h"
