/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For every target that nothing better is known for. Sixteen sums: with one, each addition would
 * wait for the one before, and no compiler may split it. */
#include <kdl/ukernels.h>

enum { sums = 16 };
typedef float vector __attribute__((vector_size(sums * sizeof(float)), aligned(4), may_alias));

void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum) {
  vector partial = {0};
  int32_t i = 0;
  for (; i + sums <= n; i += sums)
    partial += *(const vector *)(a + i) * *(const vector *)(b + i);
  float total = 0;
  for (int32_t s = 0; s < sums; ++s)
    total += partial[s];
  for (; i < n; ++i)
    total += a[i] * b[i];
  *sum = total;
}
