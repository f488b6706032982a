/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of signed bytes, accumulated in s32. */
#include <stdint.h>

typedef int8_t element;
typedef int32_t acc_type;
enum { acc_is_integer = 1 };
#define HAS_BY_K 0
#define microkernel kdl_uk_gpu_mma_s32_s8
#define microkernel_tile kdl_uk_gpu_mma_s32_s8_tile
#define microkernel_group_bytes kdl_uk_gpu_mma_s32_s8_group_bytes
#define microkernel_role kdl_uk_gpu_mma_s32_s8_role
#define NAMED(suffix) kdl_gpu_matmul_s32_s8_##suffix
#ifdef __AMDGPU__
#include "amd.h"
#else
#include "gpu_matmul.h"
#endif
