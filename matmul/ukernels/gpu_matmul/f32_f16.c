/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Matrices of f16, accumulated in f32. */
#include <stdint.h>

typedef uint16_t element;
typedef float acc_type;
enum { acc_is_integer = 0 };
#define HAS_BY_K 1
#define microkernel kdl_uk_gpu_mma_f32_f16
#define microkernel_tile kdl_uk_gpu_mma_f32_f16_tile
#define microkernel_group_bytes kdl_uk_gpu_mma_f32_f16_group_bytes
#define microkernel_role kdl_uk_gpu_mma_f32_f16_role
#define NAMED(suffix) kdl_gpu_matmul_f32_f16_##suffix
#ifdef __AMDGPU__
#include "amd.h"
#else
#include "gpu_matmul.h"
#endif
