// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same by tensor cores: each of eight warps makes two tiles of 16 by 16.
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul(const half *a, const half *b, float *c, int n) {
  __shared__ half as[64][32 + 8], bs[32][64 + 8];
  int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x, warp = t / 32, r = warp / 2 * 16, s = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2];
  wmma::fill_fragment(sums[0], 0), wmma::fill_fragment(sums[1], 0);
  for (int k = 0; k < n; k += 32) {
    *(uint4 *)&as[t / 4][t % 4 * 8] = *(const uint4 *)&a[(row + t / 4) * n + k + t % 4 * 8];
    *(uint4 *)&bs[t / 8][t % 8 * 8] = *(const uint4 *)&b[(k + t / 8) * n + column + t % 8 * 8];
    __syncthreads();
    for (int i = 0; i < 32; i += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
      wmma::load_matrix_sync(x, &as[r][i], 40);
      for (int j = 0; j < 2; ++j) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
        wmma::load_matrix_sync(y, &bs[i][s + 16 * j], 72);
        wmma::mma_sync(sums[j], x, y, sums[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j)
    wmma::store_matrix_sync(&c[(row + r) * n + column + s + 16 * j], sums[j], n, wmma::mem_row_major);
}
