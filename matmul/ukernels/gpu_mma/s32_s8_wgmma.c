/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signed bytes, accumulated in s32. */
#define NAME kdl_uk_gpu_mma_s32_s8
#define SYMBOL(function) kdl_uk_gpu_mma_s32_s8##function
#define ELEMENT int8_t
#define ACC int32_t
#define TYPES "s32.s8.s8"
#define STEP "k32"
#define SCALES(a, b) ""
#define REGISTER(value) "+r"(value)
#define HAS_BY_K 0
#include "wgmma.h"
