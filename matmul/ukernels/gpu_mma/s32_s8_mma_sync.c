/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Signed bytes, accumulated in s32. */
#define NAME kdl_uk_gpu_mma_s32_s8
#define SYMBOL(function) kdl_uk_gpu_mma_s32_s8##function
#define ELEMENT int8_t
#define ACC int32_t
#define INSTRUCTION "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#define REGISTER(value) "+r"(value)
#include "mma_sync.h"
