/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Microkernels, and the kernels that call them.
 *
 * A microkernel is a function in LLVM bitcode that is linked into its caller for one device: the
 * linker (kdl-ld) picks the variant that suits the device, inlines it, and optimises both together.
 * So a parameter to which the caller passes a constant costs nothing, and neither does the call.
 *
 *     KDL_UKERNEL void dot_f32(const float *a, const float *b, int32_t n, float *sum);
 *
 * declares one in the caller. The same line with a body defines one, in a separate image. Compile
 * both with -emit-llvm and -O1 or more: at -O0 Clang marks every function noinline.
 *
 *     KDL_CONSTANT(int32_t, unroll, 4);
 *
 * declares a constant that may be bound at link time (kdl link --const=unroll=8), with 4 as its
 * default. Callers and microkernels read it as kdl_const_unroll and share one value. If their
 * defaults differ, the caller's is used.
 *
 *     KDL_CONSTANT_REQUIRED(int32_t, depth);
 *
 * has no default: linking fails without a value. docs/linking.md has the rules.
 */
#ifndef KDL_UKERNEL_H
#define KDL_UKERNEL_H

#include <stdint.h>

#ifdef __cplusplus
#define KDL_UKERNEL_C extern "C"
#else
#define KDL_UKERNEL_C
#endif

/* Hidden, so that libkdl does not list an image's microkernels as its kernels. */
#define KDL_UKERNEL KDL_UKERNEL_C __attribute__((visibility("hidden")))

/* Names the memory layout of a microkernel's operands, where the parameters do not imply it. Put it
 * on the declaration that callers and microkernels share: the linker refuses a microkernel whose
 * layout name is not the caller's. It is a section attribute because compilers keep those on both
 * declarations and definitions; linking removes it. */
#define KDL_UKERNEL_LAYOUT(name) __attribute__((section(KDL_UKERNEL_LAYOUT_PREFIX name)))
#define KDL_UKERNEL_LAYOUT_PREFIX "kdl.layout."
#define KDL_MMA_LAYOUT "mma-kn16"                       /* of <kdl/mma.h> */
#define KDL_GPU_MMA_LAYOUT "gpu-mma-panel128"           /* of <kdl/gpu_mma.h> */
#define KDL_GPU_MMA_AMD_LAYOUT "gpu-mma-panel128-16x16" /* of <kdl/gpu_mma_amd.h> */

/* A kernel for GPUs whose groups depend on a microkernel:
 *
 *     KDL_GROUP_ITEMS(multiply) { return 32 * kdl_uk_tile_subgroups(); }
 *
 * is the number of work-items in a group of the kernel `multiply`. After inlining it must be a
 * constant, by which the compiler allocates registers; 0 where no launch will take place. */
#define KDL_GROUP_ITEMS_PREFIX "kdl_group_items_"
#define KDL_GROUP_ITEMS(kernel) KDL_UKERNEL uint32_t kdl_group_items_##kernel(void)

/* The prefix of a structure's name. A kernel for NVIDIA's GPUs that has such a structure as a
 * parameter does not write to it, and gets no copy of it: its address is where the launch put it,
 * as tensor maps need it. */
#define KDL_GRID_CONSTANT_PREFIX "kdl_grid_constant"

/* Weak, so that compilers do not fold the default before the code is linked. */
#define KDL_CONSTANT(type, name, value)                                                            \
  KDL_CONSTANT_REQUIRED(type, name);                                                               \
  __attribute__((weak)) const type kdl_const_##name = (value)

#define KDL_CONSTANT_REQUIRED(type, name)                                                          \
  KDL_UKERNEL_C extern __attribute__((visibility("hidden"))) const type kdl_const_##name

#endif
