/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A microkernel of the consumer's own, in the place of a built-in one. */
#include <kdl/ukernels.h>

void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum) {
  *sum = n > 0 ? a[0] * b[0] : 0;
}
