/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* f16, accumulated in f32. */
#define NAME kdl_uk_gpu_mma_f32_f16
#define SYMBOL(function) kdl_uk_gpu_mma_f32_f16##function
#define ELEMENT kdl_gpu_f16
#define ACC float
#define TYPES "f32.f16.f16"
#define STEP "k16"
#define SCALES(a, b) ", 1, 1, " a ", " b
#define REGISTER(value) "+f"(value)
#define HAS_BY_K 1
#include "wgmma.h"
