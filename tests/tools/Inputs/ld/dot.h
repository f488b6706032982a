/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The microkernel that the tests of the bitcode linker call and define: the dot product of two
 * rows. */
#include <kdl/ukernel.h>

KDL_UKERNEL void dot_f32(const float *a, const float *b, int32_t n, float *sum);
