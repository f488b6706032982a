/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * For those who write microkernels, and the kernels that call them.
 *
 * A microkernel is a function in LLVM bitcode that is linked into its caller for one device: the
 * linker (kdl-ld) picks the variant that suits the device, inlines it, and optimises both together.
 * So a parameter to which the caller passes a constant costs nothing, and neither does the call.
 *
 *     KDL_UKERNEL void dot_f32(const float *a, const float *b, int32_t n, float *sum);
 *
 * declares one, in the caller; the same line with a body defines one, in an image of its own. Both
 * are compiled with -emit-llvm -O1 or more: at -O0 Clang marks every function noinline.
 *
 *     KDL_CONSTANT(int32_t, unroll, 4);
 *
 * declares a constant that may be bound when the code is linked (kdl link --const=unroll=8); until
 * then it has its default. It is read as kdl_const_unroll, in callers and microkernels alike, and
 * all that name it share one value; where defaults differ, the caller's counts.
 *
 *     KDL_CONSTANT_REQUIRED(int32_t, depth);
 *
 * has no default: linking fails where none is given. docs/linking.md has the rules.
 */
#ifndef KDL_UKERNEL_H
#define KDL_UKERNEL_H

#include <stdint.h>

#ifdef __cplusplus
#define KDL_UKERNEL_C extern "C"
#else
#define KDL_UKERNEL_C
#endif

/* Hidden, so that an image's microkernels are not taken for its kernels. */
#define KDL_UKERNEL KDL_UKERNEL_C __attribute__((visibility("hidden")))

/* How the operands of a microkernel lie in memory, where its parameters do not tell: of the
 * declaration that callers and microkernels share. The linker refuses a microkernel whose mark is
 * not the caller's; it is dropped when the code is linked. (As a section, since that is what a
 * compiler notes of declarations and definitions alike.) */
#define KDL_UKERNEL_LAYOUT(name) __attribute__((section(KDL_UKERNEL_LAYOUT_PREFIX name)))
#define KDL_UKERNEL_LAYOUT_PREFIX "kdl.layout."
#define KDL_MMA_LAYOUT "mma-kn16" /* of <kdl/mma.h> */

/* Weak, so that no compiler believes in the default before the code is linked. */
#define KDL_CONSTANT(type, name, value)                                                            \
  KDL_CONSTANT_REQUIRED(type, name);                                                               \
  __attribute__((weak)) const type kdl_const_##name = (value)

#define KDL_CONSTANT_REQUIRED(type, name)                                                          \
  KDL_UKERNEL_C extern __attribute__((visibility("hidden"))) const type kdl_const_##name

#endif
