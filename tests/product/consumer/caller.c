/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <kdl/kernel.h>
#include <kdl/ukernels.h>

KDL_KERNEL(dot, (1, 1, 1), (1, 1, 1), (const float *, a), (const float *, b), (float *, y)) {
  (void)kdl_group;
  kdl_uk_dot_f32(a, b, 16, y);
}
