/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels made at random, in which a loop over work-items was once taken to be free of more than it
 * is. They give the same with optimisation as without. */
#include <kdl/kernel.h>

enum { N = 16 };

__gpu_kernel void moved(const __gpu_global uint32_t *x, __gpu_global uint32_t *y, uint32_t a,
                        uint32_t b) {
  KDL_LOCAL(uint32_t, L[N]);
  uint32_t t = __gpu_thread_id(0), g = __gpu_block_id(0) * N + t, v0 = x[g], v1 = t, v2 = a,
           v3 = b * t;
  uint32_t u0 = a, u1 = b, P[4] = {v0, v1, 3, 4};
  L[t] = ((uint32_t)(v0 < b) + ((b + 6) | (v1 * 4)));
  if (((uint32_t)((uint32_t)(b < t) < v3) + P[((u1 << (a & 7))) & 3]) & 1) {
    for (uint32_t i1 = 0; i1 < (((uint32_t)(b < u1)) & 7); ++i1) {
      if (i1 & 1) {
      }
      P[((uint32_t)(((u1 ^ v3) * v3) < (uint32_t)((u1 ^ v0) < (t - u0)))) & 3] =
          ((v2 - (v2 * v2)) + (t > (v1 << (v2 & 7)) ? (v2 - u0) : (v1 << (v2 & 7))));
    }
    if ((((5 % (u0 | 1)) >> ((uint32_t)(v2 < v1) & 7)) > 1 ? b : 1) & 1) {
      v3 = v2;
      v2 += x[((a % (v2 | 1))) % (N * 4)];
    } else {
      v3 = v2;
      P[(((uint32_t)((a % (a | 1)) < P[(v2) & 3]) | u1)) & 3] = t;
    }
  } else {
    if (u0 & 1) {
      v0 += x[((((a ^ a) % ((uint32_t)(u0 < v2) | 1)) >> (t & 7))) % (N * 4)];
    }
  }
  __gpu_sync_threads();
  v0 += L[(t + 4) % N];
  __gpu_sync_threads();
  L[t] = (((v2 - v1) % ((uint32_t)(v1 < v1) | 1)) >
                  (P[(v3) & 3] > P[(t) & 3] ? (a << (v3 & 7)) : P[(t) & 3])
              ? v2
              : (P[(v3) & 3] > P[(t) & 3] ? (a << (v3 & 7)) : P[(t) & 3]));
  __gpu_sync_threads();
  v1 = L[(t + 4) % N];
  __gpu_sync_threads();
  L[t] = v3;
  __gpu_sync_threads();
  u1 = L[58586 % N];
  __gpu_sync_threads();
  L[t] = (P[(b) & 3] << ((u1 << ((u0 - u1) & 7)) & 7));
  __gpu_sync_threads();
  u1 = L[36919 % N];
  __gpu_sync_threads();
  y[g] = v0 ^ v1 * 3 ^ v2 * 5 ^ v3 * 7 ^ P[0] ^ P[1] * 11 ^ P[2] * 13 ^ P[3] * 17 ^ u0 ^ u1 * 19;
}

KDL_BLOCK(2)
__gpu_kernel void unrolled(const __gpu_global uint32_t *x, __gpu_global uint32_t *y, uint32_t a,
                           uint32_t b) {
  KDL_LOCAL(uint32_t, L[2]);
  uint32_t t = __gpu_thread_id(0), g = __gpu_block_id(0) * 2 + t, v0 = x[g], v1 = t, v2 = a,
           v3 = b * t;
  uint32_t u0 = a, u1 = b, P[4] = {v0, v1, 3, 4};
  if ((__gpu_block_id(0) & 7) == 5) {
    y[g] = v0 ^ v1;
    return;
  }
  for (uint32_t g1 = 0; g1 < ((u1) & 3) + 1; ++g1) {
    __gpu_sync_threads();
    if (((b ^ u1) - 3) & 2) {
      __gpu_sync_threads();
    } else {
      v1 = v1;
      P[((((v2 ^ u0) & (b >> (b & 7))) & ((b | u0) - (v3 | u0)))) & 3] =
          (u1 | ((uint32_t)(4 < v3) ^ (a + u1)));
      if ((((u1 & b) >> ((v2 >> (b & 7)) & 7)) ^ (g1 * (t + a))) & 1) {
        P[((P[(v2) & 3] % (((g1 | t) * (a | 8)) | 1))) & 3] = v2;
      }
    }
  }
  L[t] = P[(a) & 3];
  __gpu_sync_threads();
  v2 ^= L[(t + 3) % 2];
  __gpu_sync_threads();
  v3 = (b << (P[((2 - a)) & 3] & 7));
  v0 = (t > ((b * v2) ^ (2 % (b | 1))) ? (u0 + v3) : ((b * v2) ^ (2 % (b | 1))));
  __gpu_sync_threads();
  y[g] = v0 ^ v1 * 3 ^ v2 * 5 ^ v3 * 7 ^ P[0] ^ P[1] * 11 ^ P[2] * 13 ^ P[3] * 17 ^ u0 ^ u1 * 19;
}
