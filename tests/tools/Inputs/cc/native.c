/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every function of which there is a fast form: by its plain name, for -ffast-math, or NAMED. */
#include <kdl/math.h>

#ifdef NAMED
#define FAST(name) native_##name
#else
#define FAST(name) name
#endif

__gpu_kernel void fast(__gpu_global float *y) {
  y[0] = FAST(cosf)(y[0]);
  y[1] = FAST(expf)(y[1]);
  y[2] = FAST(exp10f)(y[2]);
  y[3] = FAST(exp2f)(y[3]);
  y[4] = FAST(logf)(y[4]);
  y[5] = FAST(log10f)(y[5]);
  y[6] = FAST(log2f)(y[6]);
  y[7] = FAST(rsqrtf)(y[7]);
  y[8] = FAST(sinf)(y[8]);
  y[9] = FAST(sqrtf)(y[9]);
  y[10] = FAST(tanf)(y[10]);
}
