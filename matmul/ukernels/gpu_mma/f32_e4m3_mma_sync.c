/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* e4m3, accumulated in f32: sm_89 and later. */
#define NAME kdl_uk_gpu_mma_f32_e4m3
#define SYMBOL(function) kdl_uk_gpu_mma_f32_e4m3##function
#define ELEMENT kdl_gpu_e4m3
#define ACC float
#define INSTRUCTION "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define REGISTER(value) "+f"(value)
#include "mma_sync.h"
