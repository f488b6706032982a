/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The kernels as loops of plain C, for `kdl bench kernels`: the same algorithms, groups of the same
 * size, the innermost loop marked for OpenMP SIMD and the outermost for threads. Compiled twice by
 * make.sh: with -fopenmp-simd, where the outermost has none, and with -fopenmp.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { columns = 1024, bins = 256, group = 256, tile = 16 };

#define EXPORT __attribute__((visibility("default")))
#define KERNEL(name) EXPORT void kdl_bench_##name(void *const buffers[], uint32_t n)

EXPORT const char *const kdl_bench_compiler = "Clang " __clang_version__ ", " KDL_BENCH_FLAGS;

KERNEL(saxpy) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i)
    y[i] += 2.0f * x[i];
}

KERNEL(triad) {
  const float *restrict x = buffers[0], *restrict y = buffers[1];
  float *restrict z = buffers[2];
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i)
    z[i] = x[i] + 2.0f * y[i];
}

KERNEL(stencil) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i)
    y[i] = 0.25f * (x[i] + 2.0f * x[i + 1] + x[i + 2]);
}

KERNEL(compute) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i) {
    float start = x[i], value = start;
    for (uint32_t step = 0; step < 64; ++step)
      value = value * 0.5f + start;
    y[i] = value;
  }
}

KERNEL(reduce) {
  const float *x = buffers[0];
  float *total = buffers[1], sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (uint32_t i = 0; i < n; ++i)
    sum += x[i];
  *total += sum;
}

KERNEL(softmax) {
#pragma omp parallel for
  for (uint32_t row = 0; row < n; ++row) {
    const float *restrict from = (const float *)buffers[0] + (size_t)row * columns;
    float *restrict to = (float *)buffers[1] + (size_t)row * columns;
    float most = from[0], sum = 0;
#pragma omp simd reduction(max : most)
    for (uint32_t i = 0; i < columns; ++i)
      most = from[i] > most ? from[i] : most;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < columns; ++i) {
      to[i] = expf(from[i] - most);
      sum += to[i];
    }
    float scale = 1.0f / sum;
#pragma omp simd
    for (uint32_t i = 0; i < columns; ++i)
      to[i] *= scale;
  }
}

KERNEL(layernorm) {
  const float *restrict gain = buffers[1], *restrict bias = buffers[2];
#pragma omp parallel for
  for (uint32_t row = 0; row < n; ++row) {
    const float *restrict from = (const float *)buffers[0] + (size_t)row * columns;
    float *restrict to = (float *)buffers[3] + (size_t)row * columns;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < columns; ++i)
      sum += from[i];
    float mean = sum / columns;
#pragma omp simd reduction(+ : squares)
    for (uint32_t i = 0; i < columns; ++i)
      squares += (from[i] - mean) * (from[i] - mean);
    float scale = 1.0f / sqrtf(squares / columns + 1e-5f);
#pragma omp simd
    for (uint32_t i = 0; i < columns; ++i)
      to[i] = (from[i] - mean) * scale * gain[i] + bias[i];
  }
}

/* An element of the product after another, straight from the definition: rows of b are vectors. */
KERNEL(matmul) {
  const float *restrict a = buffers[0], *restrict b = buffers[1];
  float *restrict c = buffers[2];
#pragma omp parallel for
  for (uint32_t row = 0; row < n; ++row) {
    float *restrict to = c + (size_t)row * n;
    memset(to, 0, n * sizeof *to);
    for (uint32_t i = 0; i < n; ++i) {
      float factor = a[(size_t)row * n + i];
#pragma omp simd
      for (uint32_t column = 0; column < n; ++column)
        to[column] += factor * b[(size_t)i * n + column];
    }
  }
}

/* Tiles of 32 rows and 64 columns. */
KERNEL(matmul_tiled) {
  const float *restrict a = buffers[0], *restrict b = buffers[1];
  float *restrict c = buffers[2];
  enum { height = 32, width = 64 };
#pragma omp parallel for collapse(2)
  for (uint32_t top = 0; top < n; top += height) {
    for (uint32_t left = 0; left < n; left += width) {
      uint32_t bottom = top + height < n ? top + height : n;
      uint32_t wide = n - left < width ? n - left : width;
      for (uint32_t row = top; row < bottom; ++row) {
        float sums[width] = {0};
        for (uint32_t i = 0; i < n; ++i) {
          float factor = a[(size_t)row * n + i];
#pragma omp simd
          for (uint32_t column = 0; column < wide; ++column)
            sums[column] += factor * b[(size_t)i * n + left + column];
        }
        memcpy(c + (size_t)row * n + left, sums, wide * sizeof *sums);
      }
    }
  }
}

static void add_counts(uint32_t *counts, const uint32_t *own) {
  for (uint32_t i = 0; i < bins; ++i) {
#pragma omp atomic
    counts[i] += own[i];
  }
}

/* Each part counts by itself, and adds what it counted. */
KERNEL(histogram) {
  const uint8_t *data = buffers[0];
  uint32_t *counts = buffers[1];
  enum { part = 8192 };
#pragma omp parallel for
  for (uint32_t first = 0; first < n; first += part) {
    uint32_t own[bins] = {0}, end = n - first < part ? n : first + part;
    for (uint32_t i = first; i < end; ++i)
      ++own[data[i]];
    add_counts(counts, own);
  }
}

KERNEL(group_reduce) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for
  for (uint32_t g = 0; g < n / (2 * group); ++g) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < 2 * group; ++i)
      sum += x[(size_t)g * 2 * group + i];
    y[g] = sum;
  }
}

/* Hillis and Steele's, as the kernel. */
KERNEL(group_scan) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for
  for (uint32_t g = 0; g < n / group; ++g) {
    float sums[2][group];
    uint32_t from = 0;
    memcpy(sums[0], x + (size_t)g * group, sizeof sums[0]);
    for (uint32_t step = 1; step < group; step *= 2, from = 1 - from) {
      float *restrict to = sums[1 - from];
      const float *restrict of = sums[from];
#pragma omp simd
      for (uint32_t i = 0; i < step; ++i)
        to[i] = of[i];
#pragma omp simd
      for (uint32_t i = step; i < group; ++i)
        to[i] = of[i] + of[i - step];
    }
    memcpy(y + (size_t)g * group, sums[from], sizeof sums[0]);
  }
}

/* Tiles of a and b, as the kernel. */
KERNEL(group_matmul) {
  const float *restrict a = buffers[0], *restrict b = buffers[1];
  float *restrict c = buffers[2];
#pragma omp parallel for collapse(2)
  for (uint32_t top = 0; top < n; top += tile) {
    for (uint32_t left = 0; left < n; left += tile) {
      float sums[tile][tile] = {{0}};
      for (uint32_t k = 0; k < n; ++k) {
        for (uint32_t y = 0; y < tile; ++y) {
#pragma omp simd
          for (uint32_t x = 0; x < tile; ++x)
            sums[y][x] += a[(size_t)(top + y) * n + k] * b[(size_t)k * n + left + x];
        }
      }
      for (uint32_t y = 0; y < tile; ++y)
        memcpy(c + (size_t)(top + y) * n + left, sums[y], sizeof sums[y]);
    }
  }
}

KERNEL(group_transpose) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for collapse(2)
  for (uint32_t top = 0; top < n; top += tile) {
    for (uint32_t left = 0; left < n; left += tile) {
      for (uint32_t row = 0; row < tile; ++row) {
#pragma omp simd
        for (uint32_t column = 0; column < tile; ++column)
          y[(size_t)(left + row) * n + top + column] = x[(size_t)(top + column) * n + left + row];
      }
    }
  }
}

KERNEL(group_histogram) {
  const uint32_t *data = buffers[0];
  uint32_t *counts = buffers[1];
  enum { part = group * 16 };
#pragma omp parallel for
  for (uint32_t first = 0; first < n; first += part) {
    uint32_t own[bins] = {0}, end = n - first < part ? n : first + part;
    for (uint32_t i = first; i < end; ++i)
      ++own[data[i] % bins];
    add_counts(counts, own);
  }
}

KERNEL(group_sort) {
  const uint32_t *restrict x = buffers[0];
  uint32_t *restrict y = buffers[1];
#pragma omp parallel for
  for (uint32_t g = 0; g < n / (2 * group); ++g) {
    uint32_t keys[2 * group];
    memcpy(keys, x + (size_t)g * 2 * group, sizeof keys);
    for (uint32_t size = 2; size <= 2 * group; size *= 2) {
      for (uint32_t step = size / 2; step > 0; step /= 2) {
#pragma omp simd
        for (uint32_t t = 0; t < group; ++t) {
          uint32_t a = 2 * t - (t & (step - 1)), b = a + step;
          uint32_t left = keys[a], right = keys[b];
          if ((left > right) == ((a & size) == 0)) {
            keys[a] = right;
            keys[b] = left;
          }
        }
      }
    }
    memcpy(y + (size_t)g * 2 * group, keys, sizeof keys);
  }
}

KERNEL(group_stencil) {
  const float *restrict x = buffers[0];
  float *restrict y = buffers[1];
#pragma omp parallel for
  for (uint32_t row = 0; row < n; ++row) {
    const float *restrict here = x + (size_t)row * n;
    static const float nothing[1 << 14];
    const float *above = row ? here - n : nothing, *below = row + 1 < n ? here + n : nothing;
    float *restrict to = y + (size_t)row * n;
    to[0] = 0.2f * (here[0] + above[0] + below[0] + here[1]);
#pragma omp simd
    for (uint32_t i = 1; i < n - 1; ++i)
      to[i] = 0.2f * (here[i] + above[i] + below[i] + here[i - 1] + here[i + 1]);
    to[n - 1] = 0.2f * (here[n - 1] + above[n - 1] + below[n - 1] + here[n - 2]);
  }
}
