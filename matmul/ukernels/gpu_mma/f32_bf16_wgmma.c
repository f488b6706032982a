/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bf16, accumulated in f32. */
#define NAME kdl_uk_gpu_mma_f32_bf16
#define SYMBOL(function) kdl_uk_gpu_mma_f32_bf16##function
#define ELEMENT kdl_gpu_bf16
#define ACC float
#define TYPES "f32.bf16.bf16"
#define STEP "k16"
#define SCALES(a, b) ", 1, 1, " a ", " b
#define REGISTER(value) "+f"(value)
#define HAS_BY_K 1
#include "wgmma.h"
