/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Included before a source for the target `portable`: one that tests for a target is refused, with
 * the line, because nothing is known of the device. */
#ifndef KDL_KERNEL_PORTABLE_SOURCE_H
#define KDL_KERNEL_PORTABLE_SOURCE_H

#include <kdl/kernel.h>

#pragma GCC poison __NVPTX__ __PTX__ __CUDA_ARCH__ __AMDGPU__ __AMDGCN__ __SPIRV__ __OPENCL_VERSION__
#pragma GCC poison __x86_64__ __x86_64 __amd64__ __i386__ __aarch64__ __riscv __ARM_ARCH
#pragma GCC poison __SSE4_2__ __AVX__ __AVX2__ __AVX512F__ __FMA__ __F16C__ __ARM_FEATURE_FMA
#pragma GCC poison __ARM_FEATURE_SVE __ARM_NEON __riscv_vector KDL_TARGET

#endif
