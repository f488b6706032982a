/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Algorithms that suites of GPU kernels have, written from their descriptions: what such kernels do
 * between barriers is what is tested. suites.py has the plain forms. Kernels as Rodinia and
 * PolyBench/GPU have them, with their constants and boundaries, are in tests/language/suites. */
#include <kdl/kernel.h>

#if !KDL_OPENCL
#include <stdbool.h>
#endif

typedef const __gpu_global float *in;
typedef __gpu_global float *out;
typedef const __gpu_global int32_t *in_int;
typedef __gpu_global int32_t *out_int;

static int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}
static int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* Rodinia, pathfinder: the cheapest way down a wall, several rows a launch; what a group knows
 * shrinks by one on each side with every row. */
enum { path_items = 64, path_rows = 5 };
KDL_BLOCK(path_items)
__gpu_kernel void pathfinder(in_int wall, in_int costs, out_int results, int32_t columns) {
  KDL_LOCAL(int32_t, before[path_items]);
  KDL_LOCAL(int32_t, now[path_items]);
  int32_t t = (int32_t)__gpu_thread_id(0);
  int32_t inner = path_items - 2 * path_rows;
  int32_t first = (int32_t)__gpu_block_id(0) * inner - path_rows, column = first + t;
  bool is_inside = column >= 0 && column < columns;
  if (is_inside)
    before[t] = costs[column];
  __gpu_sync_threads();
  bool is_known = false;
  for (int32_t row = 0; row < path_rows; ++row) {
    is_known = false;
    if (t >= row + 1 && t <= path_items - 2 - row && is_inside) {
      is_known = true;
      int32_t left = column > 0 ? before[t - 1] : before[t];
      int32_t right = column < columns - 1 ? before[t + 1] : before[t];
      now[t] = smaller(smaller(left, before[t]), right) + wall[row * columns + column];
    }
    __gpu_sync_threads();
    if (row == path_rows - 1)
      break;
    if (is_known)
      before[t] = now[t];
    __gpu_sync_threads();
  }
  if (is_known && t >= path_rows && t < path_items - path_rows)
    results[column] = now[t];
}

/* Rodinia, needle: a square of the table of scores, along its diagonals. */
enum { square = 16 };
KDL_BLOCK(square)
__gpu_kernel void needle(in_int similar, out_int table, int32_t n, int32_t penalty) {
  KDL_LOCAL(int32_t, scores[square + 1][square + 1]);
  KDL_LOCAL(int32_t, likeness[square][square]);
  int32_t t = (int32_t)__gpu_thread_id(0);
  for (int32_t row = 0; row < square; ++row)
    likeness[row][t] = similar[(row + 1) * n + t + 1];
  if (t == 0)
    scores[0][0] = table[0];
  scores[t + 1][0] = table[(t + 1) * n];
  scores[0][t + 1] = table[t + 1];
  __gpu_sync_threads();
  for (int32_t d = 0; d < 2 * square - 1; ++d) {
    int32_t y = d - t;
    if (y >= 0 && y < square)
      scores[y + 1][t + 1] =
          larger(larger(scores[y][t] + likeness[y][t], scores[y + 1][t] - penalty),
                 scores[y][t + 1] - penalty);
    __gpu_sync_threads();
  }
  for (int32_t row = 0; row < square; ++row)
    table[(row + 1) * n + t + 1] = scores[row + 1][t + 1];
}

/* Rodinia, LU decomposition: the square on the diagonal. */
KDL_BLOCK(square)
__gpu_kernel void lud(out a, uint32_t n) {
  KDL_LOCAL(float, part[square][square]);
  uint32_t t = __gpu_thread_id(0);
  for (uint32_t i = 0; i < square; ++i)
    part[i][t] = a[i * n + t];
  __gpu_sync_threads();
  for (uint32_t i = 0; i < square - 1; ++i) {
    if (t > i) {
      for (uint32_t k = 0; k < i; ++k)
        part[t][i] -= part[t][k] * part[k][i];
      part[t][i] /= part[i][i];
    }
    __gpu_sync_threads();
    if (t > i) {
      for (uint32_t k = 0; k < i + 1; ++k)
        part[i + 1][t] -= part[i + 1][k] * part[k][t];
    }
    __gpu_sync_threads();
  }
  for (uint32_t i = 1; i < square; ++i)
    a[i * n + t] = part[i][t];
}

/* Rodinia, back propagation: products of a layer, summed by a tree over one direction. */
KDL_BLOCK(square, square)
__gpu_kernel void backprop(in input, in weights, out sums, uint32_t hidden) {
  KDL_LOCAL(float, node[square]);
  KDL_LOCAL(float, product[square][square]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1), by = __gpu_block_id(0);
  if (x == 0)
    node[y] = input[square * by + y];
  __gpu_sync_threads();
  product[y][x] = weights[(square * by + y) * hidden + x];
  __gpu_sync_threads();
  product[y][x] *= node[y];
  __gpu_sync_threads();
  for (uint32_t power = 2; power <= square; power *= 2) {
    if (y % power == 0)
      product[y][x] += product[y + power / 2][x];
    __gpu_sync_threads();
  }
  if (y == 0)
    sums[by * hidden + x] = product[0][x];
}

/* Rodinia, speckle reduction: two sums at once, with a last group that is not full. */
enum { sum_items = 128 };
KDL_BLOCK(sum_items)
__gpu_kernel void srad_sums(in x, out sums, uint32_t n) {
  KDL_LOCAL(float, one[sum_items]);
  KDL_LOCAL(float, two[sum_items]);
  uint32_t t = __gpu_thread_id(0), i = __gpu_block_id(0) * sum_items + t;
  uint32_t here = n - __gpu_block_id(0) * sum_items;
  if (here > sum_items)
    here = sum_items;
  if (i < n) {
    one[t] = x[i];
    two[t] = x[i] * x[i];
  }
  __gpu_sync_threads();
  if (here == sum_items) {
    for (uint32_t step = 2; step <= sum_items; step *= 2) {
      if ((t + 1) % step == 0) {
        one[t] += one[t - step / 2];
        two[t] += two[t - step / 2];
      }
      __gpu_sync_threads();
    }
    if (t == sum_items - 1) {
      sums[2 * __gpu_block_id(0)] = one[t];
      sums[2 * __gpu_block_id(0) + 1] = two[t];
    }
  } else {
    uint32_t full = 1;
    while (full * 2 <= here)
      full *= 2;
    for (uint32_t step = 2; step <= full; step *= 2) {
      if ((t + 1) % step == 0 && t < full) {
        one[t] += one[t - step / 2];
        two[t] += two[t - step / 2];
      }
      __gpu_sync_threads();
    }
    if (t == full - 1) {
      for (uint32_t k = full; k < here; ++k) {
        one[t] += one[k];
        two[t] += two[k];
      }
      sums[2 * __gpu_block_id(0)] = one[t];
      sums[2 * __gpu_block_id(0) + 1] = two[t];
    }
  }
}

/* Rodinia, hotspot: heat, two steps at a time, from a square whose rim is lost with each step. */
KDL_BLOCK(square, square)
__gpu_kernel void hotspot(in power, in heat, out result, int32_t n, int32_t steps) {
  KDL_LOCAL(float, now[square][square]);
  KDL_LOCAL(float, next[square][square]);
  int32_t x = (int32_t)__gpu_thread_id(0), y = (int32_t)__gpu_thread_id(1);
  int32_t inner = square - 2 * steps;
  int32_t column = (int32_t)__gpu_block_id(0) * inner - steps + x;
  int32_t row = (int32_t)__gpu_block_id(1) * inner - steps + y;
  bool is_inside = column >= 0 && column < n && row >= 0 && row < n, is_known = false;
  float source = 0.0f;
  if (is_inside) {
    now[y][x] = heat[row * n + column];
    source = power[row * n + column];
  }
  __gpu_sync_threads();
  int32_t north = row == 0 ? y : y - 1, south = row == n - 1 ? y : y + 1;
  int32_t west = column == 0 ? x : x - 1, east = column == n - 1 ? x : x + 1;
  for (int32_t i = 0; i < steps; ++i) {
    is_known = false;
    if (x > i && x < square - 1 - i && y > i && y < square - 1 - i && is_inside) {
      is_known = true;
      next[y][x] = now[y][x] + 0.1f * (source + now[south][x] + now[north][x] + now[y][east] +
                                       now[y][west] - 4.0f * now[y][x]);
    }
    __gpu_sync_threads();
    if (i == steps - 1)
      break;
    if (is_known)
      now[y][x] = next[y][x];
    __gpu_sync_threads();
  }
  if (is_known)
    result[row * n + column] = next[y][x];
}

/* NVIDIA's and AMD's samples: Haar's wavelets, level by level. */
enum { wave_items = 64 };
KDL_BLOCK(wave_items)
__gpu_kernel void haar(in x, out details, out average) {
  KDL_LOCAL(float, held[2 * wave_items]);
  uint32_t t = __gpu_thread_id(0), at = 2 * wave_items;
  held[t] = x[t];
  held[t + wave_items] = x[t + wave_items];
  for (uint32_t active = wave_items; active > 0; active /= 2) {
    __gpu_sync_threads();
    float a = 0.0f, b = 0.0f;
    if (t < active) {
      a = held[2 * t];
      b = held[2 * t + 1];
    }
    __gpu_sync_threads();
    at -= active;
    if (t < active) {
      held[t] = (a + b) * 0.70710678f;
      details[at + t] = (a - b) * 0.70710678f;
    }
  }
  if (t == 0)
    average[0] = held[0];
}

/* NVIDIA's samples: Walsh's transform of 4 numbers a work-item. */
KDL_BLOCK(64)
__gpu_kernel void walsh(out data) {
  KDL_LOCAL(float, held[256]);
  uint32_t t = __gpu_thread_id(0), first = __gpu_block_id(0) * 256;
  for (uint32_t i = t; i < 256; i += 64)
    held[i] = data[first + i];
  for (uint32_t stride = 64; stride > 0; stride /= 4) {
    __gpu_sync_threads();
    uint32_t low = t & (stride - 1), i0 = ((t - low) << 2) + low;
    float d0 = held[i0], d1 = held[i0 + stride], d2 = held[i0 + 2 * stride],
          d3 = held[i0 + 3 * stride];
    float kept = d0;
    d0 += d2;
    d2 = kept - d2;
    kept = d1;
    d1 += d3;
    d3 = kept - d3;
    kept = d0;
    held[i0] = d0 + d1;
    held[i0 + stride] = kept - d1;
    kept = d2;
    held[i0 + 2 * stride] = d2 + d3;
    held[i0 + 3 * stride] = kept - d3;
  }
  __gpu_sync_threads();
  for (uint32_t i = t; i < 256; i += 64)
    data[first + i] = held[i];
}

/* NVIDIA's samples: bodies that attract one another, a tile of them at a time. */
typedef struct {
  float x, y, z, m;
} body;
KDL_BLOCK(32)
__gpu_kernel void nbody(const __gpu_global body *bodies, __gpu_global body *pulls, uint32_t n) {
  KDL_LOCAL(body, tile[32]);
  uint32_t t = __gpu_thread_id(0), i = __gpu_block_id(0) * 32 + t;
  body me = bodies[i], pull = {0, 0, 0, 0};
  for (uint32_t first = 0; first < n; first += 32) {
    tile[t] = bodies[first + t];
    __gpu_sync_threads();
    for (uint32_t k = 0; k < 32; ++k) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float square_distance = dx * dx + dy * dy + dz * dz + 0.01f;
      float inverse = 1.0f / kdl_sqrt(square_distance);
      float s = tile[k].m * inverse * inverse * inverse;
      pull.x += dx * s;
      pull.y += dy * s;
      pull.z += dz * s;
    }
    __gpu_sync_threads();
  }
  pulls[i] = pull;
}

/* NVIDIA's samples: a separable convolution, along rows; each work-item gives four numbers. */
enum { row_items = 16, row_results = 4, radius = 8 };
KDL_BLOCK(row_items, 4)
__gpu_kernel void convolution(in x, in weights, out y, int32_t n) {
  KDL_LOCAL(float, rows[4][(row_results + 2) * row_items]);
  int32_t t = (int32_t)__gpu_thread_id(0), k = (int32_t)__gpu_thread_id(1);
  int32_t row = (int32_t)__gpu_block_id(1) * 4 + k;
  int32_t first = ((int32_t)__gpu_block_id(0) * row_results - 1) * row_items + t;
  for (int32_t i = 0; i < row_results + 2; ++i) {
    int32_t column = first + i * row_items;
    rows[k][i * row_items + t] = column >= 0 && column < n ? x[row * n + column] : 0.0f;
  }
  __gpu_sync_threads();
  for (int32_t i = 1; i <= row_results; ++i) {
    float sum = 0.0f;
    for (int32_t j = -radius; j <= radius; ++j)
      sum += weights[radius - j] * rows[k][i * row_items + t + j];
    if (first + i * row_items < n)
      y[row * n + first + i * row_items] = sum;
  }
}

/* SHOC: a Fourier transform in group memory, by Stockham's way; twiddles come as a table. */
KDL_BLOCK(64)
__gpu_kernel void fourier(out real, out imaginary, in cosines, in sines) {
  KDL_LOCAL(float, re[2][128]);
  KDL_LOCAL(float, im[2][128]);
  uint32_t t = __gpu_thread_id(0), base = __gpu_block_id(0) * 128, from = 0;
  for (uint32_t i = t; i < 128; i += 64) {
    re[0][i] = real[base + i];
    im[0][i] = imaginary[base + i];
  }
  __gpu_sync_threads();
  for (uint32_t size = 1; size < 128; size *= 2) {
    uint32_t k = t & (size - 1), to = 1 - from, j = ((t - k) << 1) + k;
    float c = cosines[k * (64 / size)], s = sines[k * (64 / size)];
    float ar = re[from][t], ai = im[from][t], br = re[from][t + 64], bi = im[from][t + 64];
    float wr = br * c + bi * s, wi = bi * c - br * s;
    re[to][j] = ar + wr;
    im[to][j] = ai + wi;
    re[to][j + size] = ar - wr;
    im[to][j + size] = ai - wi;
    from = to;
    __gpu_sync_threads();
  }
  for (uint32_t i = t; i < 128; i += 64) {
    real[base + i] = re[from][i];
    imaginary[base + i] = im[from][i];
  }
}

/* NVIDIA's samples: Batcher's odd-even merge sort, keys with values. */
KDL_BLOCK(64)
__gpu_kernel void merge_sort(out_int keys, out_int values) {
  KDL_LOCAL(int32_t, key[128]);
  KDL_LOCAL(int32_t, value[128]);
  uint32_t t = __gpu_thread_id(0), first = __gpu_block_id(0) * 128;
  for (uint32_t i = t; i < 128; i += 64) {
    key[i] = keys[first + i];
    value[i] = values[first + i];
  }
  for (uint32_t size = 2; size <= 128; size *= 2) {
    uint32_t stride = size / 2, offset = t & (stride - 1);
    {
      __gpu_sync_threads();
      uint32_t at = 2 * t - (t & (stride - 1));
      if (key[at] > key[at + stride]) {
        int32_t a = key[at], b = value[at];
        key[at] = key[at + stride];
        value[at] = value[at + stride];
        key[at + stride] = a;
        value[at + stride] = b;
      }
      stride /= 2;
    }
    for (; stride > 0; stride /= 2) {
      __gpu_sync_threads();
      uint32_t at = 2 * t - (t & (stride - 1));
      if (offset >= stride && key[at - stride] > key[at]) {
        int32_t a = key[at], b = value[at];
        key[at] = key[at - stride];
        value[at] = value[at - stride];
        key[at - stride] = a;
        value[at - stride] = b;
      }
    }
  }
  __gpu_sync_threads();
  for (uint32_t i = t; i < 128; i += 64) {
    keys[first + i] = key[i];
    values[first + i] = value[i];
  }
}
