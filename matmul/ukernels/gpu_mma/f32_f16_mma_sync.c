/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16, accumulated in f32. */
#define NAME kdl_uk_gpu_mma_f32_f16
#define SYMBOL(function) kdl_uk_gpu_mma_f32_f16##function
#define ELEMENT kdl_gpu_f16
#define ACC float
#define INSTRUCTION "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define REGISTER(value) "+f"(value)
#include "mma_sync.h"
