/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parameters of every sort, by names and without; the header is Clang's. */
#include <gpuintrin.h>

typedef struct {
  double x;
  int8_t y;
} pair;
enum colour { red, green };
typedef const __gpu_global uint16_t *words;

__gpu_kernel void types(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
                        int64_t g, uint64_t h, float i, double j, pair k, enum colour l,
                        __gpu_global void *m, words n, volatile __gpu_global pair *restrict o,
                        const __gpu_global int64_t *const q, char p) {
  ((__gpu_global double *)m)[0] = a + b + c + d + e + f + (double)g + (double)h + i + j + k.x + l +
                                  n[0] + o->x + (double)q[0] + p;
}
