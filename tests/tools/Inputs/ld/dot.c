/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A microkernel whose result tells which one ran: MARK is added to the product. */
#include "dot.h"

#ifndef MARK
#define MARK 0
#endif

KDL_UKERNEL void dot_f32(const float *a, const float *b, int32_t n, float *sum) {
  float total = MARK;
  for (int32_t i = 0; i < n; ++i)
    total += a[i] * b[i];
  *sum = total;
}
