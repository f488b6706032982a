/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* x86-64-v4. The rest of a row is one masked step. */
#include <kdl/ukernels.h>

#include <immintrin.h>

enum { lanes = 16, sums = 4 };

void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum) {
  __m512 partial[sums] = {_mm512_setzero_ps()};
  int32_t i = 0;
  for (; i + lanes * sums <= n; i += lanes * sums) {
    for (int32_t s = 0; s < sums; ++s)
      partial[s] = _mm512_fmadd_ps(_mm512_loadu_ps(a + i + lanes * s),
                                   _mm512_loadu_ps(b + i + lanes * s), partial[s]);
  }
  for (; i < n; i += lanes) {
    __mmask16 mask = n - i < lanes ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
    partial[0] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, a + i),
                                 _mm512_maskz_loadu_ps(mask, b + i), partial[0]);
  }
  *sum = _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(partial[0], partial[1]), _mm512_add_ps(partial[2], partial[3])));
}
