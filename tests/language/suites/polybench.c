/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PolyBench/GPU: inputs and plain forms as the suite has them, of smaller sizes. */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { block_x = 32, block_y = 8 };

static void conv2d(suite *s) {
  int32_t ni = 75, nj = 90;
  size_t size = (size_t)(ni * nj) * 4;
  shared a = share(s, size), b = share(s, size);
  float *from = a.host, *want = calloc(1, size);
  for (int32_t i = 0; i < ni * nj; ++i)
    from[i] = (float)rand() / (float)RAND_MAX;
  send(s, &a);
  send(s, &b);
  run(s, "conv2d", GROUPS(nj, block_x), GROUPS(ni, block_y),
      KDL_ARGS(&ni, &nj, &a.buffer, &b.buffer));
  receive(s, &b);
  static const float c[3][3] = {{0.2f, 0.5f, -0.8f}, {-0.3f, 0.6f, -0.9f}, {0.4f, 0.7f, 0.10f}};
  for (int32_t i = 1; i < ni - 1; ++i) {
    for (int32_t j = 1; j < nj - 1; ++j) {
      for (int32_t k = 0; k < 9; ++k)
        want[i * nj + j] += c[k / 3][k % 3] * from[(i + k / 3 - 1) * nj + j + k % 3 - 1];
    }
  }
  compare_floats(s, "PolyBench/GPU 2DCONV", b.host, want, size / 4, 1e-5);
  free(want);
  unshare(&a);
  unshare(&b);
}

static void gemm(suite *s) {
  int32_t ni = 40, nj = 50, nk = 30;
  float alpha = 32412, beta = 2123;
  shared a = share(s, (size_t)(ni * nk) * 4), b = share(s, (size_t)(nk * nj) * 4),
         c = share(s, (size_t)(ni * nj) * 4);
  float *x = a.host, *y = b.host, *z = c.host, *want = calloc(1, c.size);
  for (int32_t i = 0; i < ni * nk; ++i)
    x[i] = (float)((i / nk) * (i % nk)) / (float)ni;
  for (int32_t i = 0; i < nk * nj; ++i)
    y[i] = (float)((i / nj) * (i % nj)) / (float)ni;
  for (int32_t i = 0; i < ni * nj; ++i)
    want[i] = z[i] = (float)((i / nj) * (i % nj)) / (float)ni;
  send(s, &a);
  send(s, &b);
  send(s, &c);
  run(s, "gemm", GROUPS(nj, block_x), GROUPS(ni, block_y),
      KDL_ARGS(&ni, &nj, &nk, &alpha, &beta, &a.buffer, &b.buffer, &c.buffer));
  receive(s, &c);
  for (int32_t i = 0; i < ni; ++i) {
    for (int32_t j = 0; j < nj; ++j) {
      want[i * nj + j] *= beta;
      for (int32_t k = 0; k < nk; ++k)
        want[i * nj + j] += alpha * x[i * nk + k] * y[k * nj + j];
    }
  }
  compare_floats(s, "PolyBench/GPU GEMM", c.host, want, c.size / 4, 1e-5);
  free(want);
  unshare(&a);
  unshare(&b);
  unshare(&c);
}

static void atax(suite *s) {
  int32_t nx = 300, ny = 270;
  shared a = share(s, (size_t)(nx * ny) * 4), x = share(s, (size_t)nx * 4),
         y = share(s, (size_t)ny * 4), t = share(s, (size_t)nx * 4);
  float *m = a.host, *v = x.host, *want = calloc(1, y.size);
  for (int32_t i = 0; i < nx; ++i) {
    v[i] = (float)(i * 3.14159265358979323846);
    for (int32_t j = 0; j < ny; ++j)
      m[i * ny + j] = (float)(i * j) / (float)nx;
  }
  send(s, &a);
  send(s, &x);
  run(s, "atax_1", GROUPS(nx, 256), 1, KDL_ARGS(&nx, &ny, &a.buffer, &x.buffer, &t.buffer));
  run(s, "atax_2", GROUPS(ny, 256), 1, KDL_ARGS(&nx, &ny, &a.buffer, &y.buffer, &t.buffer));
  receive(s, &y);
  for (int32_t i = 0; i < nx; ++i) {
    float sum = 0;
    for (int32_t j = 0; j < ny; ++j)
      sum += m[i * ny + j] * v[j];
    for (int32_t j = 0; j < ny; ++j)
      want[j] += m[i * ny + j] * sum;
  }
  compare_floats(s, "PolyBench/GPU ATAX", y.host, want, (size_t)ny, 1e-4);
  free(want);
  unshare(&a);
  unshare(&x);
  unshare(&y);
  unshare(&t);
}

static void fdtd_plain(int32_t nx, int32_t ny, int32_t t, float *ex, float *ey, float *hz) {
  for (int32_t i = 0; i < nx * ny; ++i)
    ey[i] = i < ny ? (float)t : ey[i] - 0.5f * (hz[i] - hz[i - ny]);
  for (int32_t i = 0; i < nx * ny; ++i) {
    if (i % ny)
      ex[i] = ex[i] - 0.5f * (hz[i] - hz[i - 1]);
  }
  for (int32_t i = 0; i < (nx - 1) * ny; ++i) {
    if (i % ny < ny - 1)
      hz[i] = hz[i] - 0.7f * (ex[i + 1] - ex[i] + ey[i + ny] - ey[i]);
  }
}

static void fdtd(suite *s) {
  int32_t nx = 60, ny = 70, steps = 20;
  size_t size = (size_t)(nx * ny) * 4;
  shared source = share(s, (size_t)steps * 4),
         fields[3] = {share(s, size), share(s, size), share(s, size)};
  float *want[3];
  for (int32_t t = 0; t < steps; ++t)
    ((float *)source.host)[t] = (float)t;
  for (int k = 0; k < 3; ++k) {
    for (int32_t i = 0; i < nx * ny; ++i) {
      int32_t row = i / ny, column = i % ny;
      int32_t products[] = {row * (column + 1) + 1, (row - 1) * (column + 2) + 2,
                            (row - 9) * (column + 4) + 3};
      ((float *)fields[k].host)[i] = (float)products[k] / (float)nx;
    }
    want[k] = memcpy(malloc(size), fields[k].host, size);
    send(s, &fields[k]);
  }
  send(s, &source);
  unsigned x = GROUPS(ny, block_x), y = GROUPS(nx, block_y);
  for (int32_t t = 0; t < steps; ++t) {
    run(s, "fdtd_1", x, y,
        KDL_ARGS(&nx, &ny, &source.buffer, &fields[1].buffer, &fields[2].buffer, &t));
    run(s, "fdtd_2", x, y, KDL_ARGS(&nx, &ny, &fields[0].buffer, &fields[2].buffer));
    run(s, "fdtd_3", x, y,
        KDL_ARGS(&nx, &ny, &fields[0].buffer, &fields[1].buffer, &fields[2].buffer));
    fdtd_plain(nx, ny, t, want[0], want[1], want[2]);
  }
  receive(s, &fields[2]);
  compare_floats(s, "PolyBench/GPU FDTD-2D", fields[2].host, want[2], size / 4, 1e-4);
  unshare(&source);
  for (int k = 0; k < 3; ++k) {
    unshare(&fields[k]);
    free(want[k]);
  }
}

static void corr_plain(int32_t m, int32_t n, float *data, float *products) {
  const float float_n = 3214212.01f;
  for (int32_t j = 0; j < m; ++j) {
    float mean = 0, sum = 0;
    for (int32_t i = 0; i < n; ++i)
      mean += data[i * m + j];
    mean /= float_n;
    for (int32_t i = 0; i < n; ++i)
      sum += (data[i * m + j] - mean) * (data[i * m + j] - mean);
    float deviation = sqrtf(sum / float_n);
    deviation = deviation <= 0.005f ? 1.0f : deviation;
    for (int32_t i = 0; i < n; ++i)
      data[i * m + j] = (data[i * m + j] - mean) / (sqrtf(float_n) * deviation);
  }
  for (int32_t j = 0; j < m; ++j) {
    products[j * m + j] = 1;
    for (int32_t k = j + 1; k < m; ++k) {
      float sum = 0;
      for (int32_t i = 0; i < n; ++i)
        sum += data[i * m + j] * data[i * m + k];
      products[j * m + k] = products[k * m + j] = sum;
    }
  }
}

static void corr(suite *s) {
  int32_t m = 64, n = 64; /* the suite's are alike */
  size_t size = (size_t)(m * n) * 4;
  shared data = share(s, size), products = share(s, size), mean = share(s, (size_t)m * 4),
         deviation = share(s, (size_t)m * 4);
  for (int32_t i = 0; i < m * n; ++i)
    ((float *)data.host)[i] = (float)((i / m) * (i % m)) / (float)m;
  ((float *)products.host)[m * n - 1] = 1; /* by the host, in the suite too */
  float *plain = memcpy(malloc(size), data.host, size), *want = calloc(1, size);
  send(s, &data);
  send(s, &products);
  run(s, "corr_mean", GROUPS(m, 256), 1, KDL_ARGS(&m, &n, &mean.buffer, &data.buffer));
  run(s, "corr_deviation", GROUPS(m, 256), 1,
      KDL_ARGS(&m, &n, &mean.buffer, &deviation.buffer, &data.buffer));
  run(s, "corr_reduce", GROUPS(m, block_x), GROUPS(n, block_y),
      KDL_ARGS(&m, &n, &mean.buffer, &deviation.buffer, &data.buffer));
  run(s, "corr_products", GROUPS(m, 256), 1, KDL_ARGS(&m, &n, &products.buffer, &data.buffer));
  receive(s, &products);
  corr_plain(m, n, plain, want);
  compare_floats(s, "PolyBench/GPU CORR", products.host, want, size / 4, 1e-4);
  free(plain);
  free(want);
  unshare(&data);
  unshare(&products);
  unshare(&mean);
  unshare(&deviation);
}

void run_polybench(suite *s) {
  srand(1);
  conv2d(s);
  gemm(s);
  atax(s);
  fdtd(s);
  corr(s);
}
