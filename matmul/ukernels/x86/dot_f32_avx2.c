/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* x86-64-v3. Four sums of eight keep both multiply-add units busy over their latency of four. */
#include <kdl/ukernels.h>

#include <immintrin.h>

enum { lanes = 8, sums = 4 };

void kdl_uk_dot_f32(const float *a, const float *b, int32_t n, float *sum) {
  __m256 partial[sums] = {_mm256_setzero_ps()};
  int32_t i = 0;
  for (; i + lanes * sums <= n; i += lanes * sums) {
    for (int32_t s = 0; s < sums; ++s)
      partial[s] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + lanes * s),
                                   _mm256_loadu_ps(b + i + lanes * s), partial[s]);
  }
  for (; i + lanes <= n; i += lanes)
    partial[0] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), partial[0]);
  __m256 all =
      _mm256_add_ps(_mm256_add_ps(partial[0], partial[1]), _mm256_add_ps(partial[2], partial[3]));
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  float total = _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
  for (; i < n; ++i)
    total += a[i] * b[i];
  *sum = total;
}
