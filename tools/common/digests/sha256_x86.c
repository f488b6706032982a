/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tools/common/digests/digests.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

/* The state is in two halves, ABEF and CDGH, as the instructions need it. The schedule holds four
 * words at a time; the next four replace them. */
__attribute__((target("sha,sse4.1"))) static void take_block(uint32_t *state,
                                                             const uint8_t *block) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  void *to = state;
  const void *from = block, *table = sha256_rounds;
  __m128i *halves = to; /* unaligned, all three */
  const __m128i *bytes = from, *rounds = table;
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(halves), 0xb1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(halves + 1), 0x1b);
  const __m128i abef_before = _mm_alignr_epi8(cdab, efgh, 8);
  const __m128i cdgh_before = _mm_blend_epi16(efgh, cdab, 0xf0);
  __m128i abef = abef_before, cdgh = cdgh_before, words[4];
  for (int i = 0; i < 4; ++i)
    words[i] = _mm_shuffle_epi8(_mm_loadu_si128(bytes + i), swap);
  for (int i = 0; i < 16; ++i) {
    __m128i *now = &words[i % 4];
    const __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128(rounds + i));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    const __m128i last = words[(i + 3) % 4];
    const __m128i older = _mm_alignr_epi8(last, words[(i + 2) % 4], 4);
    *now = _mm_sha256msg2_epu32(
        _mm_add_epi32(_mm_sha256msg1_epu32(*now, words[(i + 1) % 4]), older), last);
  }
  abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
  cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
  _mm_storeu_si128(halves, _mm_blend_epi16(abef, cdgh, 0xf0));
  _mm_storeu_si128(halves + 1, _mm_alignr_epi8(cdgh, abef, 8));
}

digest_block *sha256_block_x86(void) {
  const unsigned sha = 1u << 29, sse41 = 1u << 19;
  unsigned eax, ebx, ecx, edx;
  bool has_sse41 = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & sse41;
  bool has_sha = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & sha;
  return has_sse41 && has_sha ? take_block : NULL;
}
#else
digest_block *sha256_block_x86(void) {
  return NULL;
}
#endif
