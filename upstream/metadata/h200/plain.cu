// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C = A * B, square matrices of halves, by the arithmetic of each thread. 256 threads make a tile of 64 by 64.
#include <cuda_fp16.h>
extern "C" __global__ void matmul(const half *a, const half *b, float *c, int n) {
  __shared__ float as[16][64 + 4], bs[16][64 + 4];
  int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x, r = t / 16 * 4, s = t % 16 * 4;
  float sums[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = t; i < 1024; i += 256) {
      as[i % 16][i / 16] = __half2float(a[(row + i / 16) * n + k + i % 16]);
      bs[i / 64][i % 64] = __half2float(b[(k + i / 64) * n + column + i % 64]);
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x)
          sums[y][x] += as[i][r + y] * bs[i][s + x];
    __syncthreads();
  }
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x)
      c[(row + r + y) * n + column + s + x] = sums[y][x];
}
