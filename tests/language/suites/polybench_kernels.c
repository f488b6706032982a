// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of PolyBench/GPU (as in PolyBench-ACC, the folder CUDA/), written anew with the same
// boundaries and constants: polybench.c launches them as the suite does, and has its plain forms.
#include <kdl/kernel.h>

enum { block_x = 32, block_y = 8 };

typedef const __gpu_global float *in;
typedef __gpu_global float *out;

static int32_t item(int d, int32_t size) {
  uint32_t group = d ? __gpu_block_id(1) : __gpu_block_id(0);
  uint32_t thread = d ? __gpu_thread_id(1) : __gpu_thread_id(0);
  return (int32_t)group * size + (int32_t)thread;
}

// 2DCONV
KDL_BLOCK(block_x, block_y)
__gpu_kernel void conv2d(int32_t ni, int32_t nj, in a, out b) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i < 1 || j < 1 || i >= ni - 1 || j >= nj - 1)
    return;
  in above = a + (i - 1) * nj + j, here = a + i * nj + j, below = a + (i + 1) * nj + j;
  b[i * nj + j] = 0.2f * above[-1] + 0.5f * above[0] - 0.8f * above[1] - 0.3f * here[-1] +
                  0.6f * here[0] - 0.9f * here[1] + 0.4f * below[-1] + 0.7f * below[0] +
                  0.10f * below[1];
}

// GEMM
KDL_BLOCK(block_x, block_y)
__gpu_kernel void gemm(int32_t ni, int32_t nj, int32_t nk, float alpha, float beta, in a, in b,
                       out c) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i >= ni || j >= nj)
    return;
  c[i * nj + j] *= beta;
  for (int32_t k = 0; k < nk; ++k)
    c[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
}

// ATAX: A x, then its transpose times that.
KDL_BLOCK(256)
__gpu_kernel void atax_1(int32_t nx, int32_t ny, in a, in x, out t) {
  int32_t i = item(0, 256);
  if (i >= nx)
    return;
  t[i] = 0;
  for (int32_t j = 0; j < ny; ++j)
    t[i] += a[i * ny + j] * x[j];
}
KDL_BLOCK(256)
__gpu_kernel void atax_2(int32_t nx, int32_t ny, in a, out y, in t) {
  int32_t j = item(0, 256);
  if (j >= ny)
    return;
  y[j] = 0;
  for (int32_t i = 0; i < nx; ++i)
    y[j] += a[i * ny + j] * t[i];
}

// FDTD-2D: one step of a field in three kernels.
KDL_BLOCK(block_x, block_y)
__gpu_kernel void fdtd_1(int32_t nx, int32_t ny, in source, out ey, in hz, int32_t t) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i >= nx || j >= ny)
    return;
  ey[i * ny + j] =
      i == 0 ? source[t] : ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
}
KDL_BLOCK(block_x, block_y)
__gpu_kernel void fdtd_2(int32_t nx, int32_t ny, out ex, in hz) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i < nx && j < ny && j > 0)
    ex[i * ny + j] = ex[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
}
KDL_BLOCK(block_x, block_y)
__gpu_kernel void fdtd_3(int32_t nx, int32_t ny, in ex, in ey, out hz) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i < nx - 1 && j < ny - 1)
    hz[i * ny + j] = hz[i * ny + j] - 0.7f * (ex[i * ny + j + 1] - ex[i * ny + j] +
                                              ey[(i + 1) * ny + j] - ey[i * ny + j]);
}

// CORR: means, deviations, columns scaled alike, and their products.
#define FLOAT_N 3214212.01f
KDL_BLOCK(256)
__gpu_kernel void corr_mean(int32_t m, int32_t n, out mean, in data) {
  int32_t j = item(0, 256);
  if (j >= m)
    return;
  mean[j] = 0.0f;
  for (int32_t i = 0; i < n; ++i)
    mean[j] += data[i * m + j];
  mean[j] /= FLOAT_N;
}
KDL_BLOCK(256)
__gpu_kernel void corr_deviation(int32_t m, int32_t n, in mean, out deviation, in data) {
  int32_t j = item(0, 256);
  if (j >= m)
    return;
  float sum = 0.0f;
  for (int32_t i = 0; i < n; ++i)
    sum += (data[i * m + j] - mean[j]) * (data[i * m + j] - mean[j]);
  float found = kdl_sqrt(sum / FLOAT_N);
  deviation[j] = found <= 0.005f ? 1.0f : found;
}
KDL_BLOCK(block_x, block_y)
__gpu_kernel void corr_reduce(int32_t m, int32_t n, in mean, in deviation, out data) {
  int32_t j = item(0, block_x), i = item(1, block_y);
  if (i >= n || j >= m)
    return;
  data[i * m + j] -= mean[j];
  data[i * m + j] /= kdl_sqrt(FLOAT_N) * deviation[j];
}
KDL_BLOCK(256)
__gpu_kernel void corr_products(int32_t m, int32_t n, out products, in data) {
  int32_t j = item(0, 256);
  if (j >= m - 1)
    return;
  products[j * m + j] = 1.0f;
  for (int32_t k = j + 1; k < m; ++k) {
    float sum = 0.0f;
    for (int32_t i = 0; i < n; ++i)
      sum += data[i * m + j] * data[i * m + k];
    products[j * m + k] = sum;
    products[k * m + j] = sum;
  }
}
