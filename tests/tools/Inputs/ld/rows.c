/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* y[r] is row r of a times b: a host kernel that leaves the product to a microkernel, with BUILTIN
 * to a built-in one. */
#include <kdl/kernel.h>
#ifdef BUILTIN
#include <kdl/ukernels.h>
#define dot_f32 kdl_uk_dot_f32
#else
#include "dot.h"
#endif

KDL_CONSTANT(int32_t, depth, 64);

KDL_KERNEL(rows, (1, 1, 1), (1, 1, 1), (const float *restrict, a), (const float *restrict, b),
           (float *restrict, y)) {
  uint32_t row = kdl_group->group[0];
  dot_f32(a + (uint64_t)row * (uint32_t)kdl_const_depth, b, kdl_const_depth, y + row);
}
