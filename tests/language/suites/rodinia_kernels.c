// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of Rodinia 3.1 (the folders cuda/ and openmp/), written anew with the same boundaries and
// constants: rodinia.c launches them as the suite does, and has its plain forms.
#include <kdl/kernel.h>

enum { side = 16, path_items = 256 };

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

// hotspot: as many steps as `steps`, of a square whose rim is lost with each of them; the square
// begins `border` before what it writes. Beyond the chip is what is at its edge.
KDL_BLOCK(side, side)
__gpu_kernel void hotspot(int32_t steps, in power, in from, out to, int32_t columns, int32_t rows,
                          int32_t border, float per_heat, float rx, float ry, float rz) {
  KDL_LOCAL(float, now[side][side]);
  KDL_LOCAL(float, next[side][side]);
  const float outside = 80.0f;
  int32_t x = (int32_t)__gpu_thread_id(0), y = (int32_t)__gpu_thread_id(1),
          inner = side - 2 * steps;
  int32_t left = inner * (int32_t)__gpu_block_id(0) - border;
  int32_t top = inner * (int32_t)__gpu_block_id(1) - border;
  int32_t column = left + x, row = top + y;
  int32_t is_inside = column >= 0 && column < columns && row >= 0 && row < rows, is_known = 0;
  float source = 0.0f;
  if (is_inside) {
    now[y][x] = from[row * columns + column];
    source = power[row * columns + column];
  }
  __gpu_sync_threads();
  int32_t north = larger(y - 1, larger(-top, 0)), west = larger(x - 1, larger(-left, 0));
  int32_t south = smaller(y + 1, smaller(rows - 1 - top, side - 1));
  int32_t east = smaller(x + 1, smaller(columns - 1 - left, side - 1));
  for (int32_t i = 0; i < steps; ++i) {
    is_known = is_inside && x >= i + 1 && x <= side - i - 2 && y >= i + 1 && y <= side - i - 2;
    if (is_known) {
      float here = now[y][x];
      next[y][x] = here + per_heat * (source + (now[south][x] + now[north][x] - 2.0f * here) * ry +
                                      (now[y][east] + now[y][west] - 2.0f * here) * rx +
                                      (outside - here) * rz);
    }
    __gpu_sync_threads();
    if (i == steps - 1)
      break;
    if (is_known)
      now[y][x] = next[y][x];
    __gpu_sync_threads();
  }
  if (is_known)
    to[row * columns + column] = next[y][x];
}

// pathfinder: the cheapest way to each column, `steps` rows a launch; the row behind `first` is the
// first that is added.
KDL_BLOCK(path_items)
__gpu_kernel void pathfinder(int32_t steps, in_int wall, in_int from, out_int to, int32_t columns,
                             int32_t first, int32_t border) {
  KDL_LOCAL(int32_t, before[path_items]);
  KDL_LOCAL(int32_t, now[path_items]);
  int32_t t = (int32_t)__gpu_thread_id(0);
  int32_t left = (path_items - 2 * steps) * (int32_t)__gpu_block_id(0) - border, column = left + t;
  int32_t least = larger(-left, 0), most = smaller(columns - 1 - left, path_items - 1);
  int32_t is_inside = t >= least && t <= most, is_known = 0;
  if (is_inside)
    before[t] = from[column];
  __gpu_sync_threads();
  for (int32_t i = 0; i < steps; ++i) {
    is_known = is_inside && t >= i + 1 && t <= path_items - i - 2;
    if (is_known)
      now[t] =
          smaller(smaller(before[larger(t - 1, least)], before[t]), before[smaller(t + 1, most)]) +
          wall[columns * (first + i) + column];
    __gpu_sync_threads();
    if (i == steps - 1)
      break;
    if (is_known)
      before[t] = now[t];
    __gpu_sync_threads();
  }
  if (is_known)
    to[column] = now[t];
}

// nw: squares on a diagonal of the table of scores, each along its own diagonals. `is_lower`: of
// the half below the longest diagonal.
KDL_BLOCK(side)
__gpu_kernel void needle(in_int similar, out_int table, int32_t columns, int32_t penalty, int32_t i,
                         int32_t width, int32_t is_lower) {
  KDL_LOCAL(int32_t, score[side + 1][side + 1]);
  KDL_LOCAL(int32_t, like[side][side]);
  int32_t t = (int32_t)__gpu_thread_id(0), b = (int32_t)__gpu_block_id(0);
  int32_t x = is_lower ? b + width - i : b, y = is_lower ? width - b - 1 : i - 1 - b;
  int32_t corner = columns * side * y + side * x;
  if (t == 0)
    score[0][0] = table[corner];
  for (int32_t k = 0; k < side; ++k)
    like[k][t] = similar[corner + columns * (k + 1) + t + 1];
  score[t + 1][0] = table[corner + columns * (t + 1)];
  score[0][t + 1] = table[corner + t + 1];
  __gpu_sync_threads();
  for (int32_t m = 0; m < 2 * side - 1; ++m) {
    int32_t row = m - t + 1;
    if (row >= 1 && row <= side)
      score[row][t + 1] =
          larger(larger(score[row - 1][t] + like[row - 1][t], score[row][t] - penalty),
                 score[row - 1][t + 1] - penalty);
    __gpu_sync_threads();
  }
  for (int32_t k = 0; k < side; ++k)
    table[corner + columns * (k + 1) + t + 1] = score[k + 1][t + 1];
}

// bfs: nodes at the front give their neighbours a cost; what they gave one to is the next front.
typedef struct {
  int32_t first, count;
} node;
KDL_BLOCK(256)
__gpu_kernel void bfs_visit(const __gpu_global node *nodes, in_int edges,
                            __gpu_global uint8_t *front, __gpu_global uint8_t *next,
                            const __gpu_global uint8_t *visited, out_int cost, int32_t count) {
  int32_t i = (int32_t)(__gpu_block_id(0) * 256 + __gpu_thread_id(0));
  if (i >= count || !front[i])
    return;
  front[i] = 0;
  for (int32_t k = nodes[i].first; k < nodes[i].first + nodes[i].count; ++k) {
    int32_t other = edges[k];
    if (!visited[other]) {
      cost[other] = cost[i] + 1;
      next[other] = 1;
    }
  }
}
KDL_BLOCK(256)
__gpu_kernel void bfs_advance(__gpu_global uint8_t *front, __gpu_global uint8_t *next,
                              __gpu_global uint8_t *visited, __gpu_global uint32_t *goes_on,
                              int32_t count) {
  int32_t i = (int32_t)(__gpu_block_id(0) * 256 + __gpu_thread_id(0));
  if (i >= count || !next[i])
    return;
  front[i] = 1;
  visited[i] = 1;
  kdl_atomic_max(goes_on, 1);
  next[i] = 0;
}

// srad, version 2: derivatives and the coefficient of diffusion; then the picture's next state.
KDL_BLOCK(side, side)
__gpu_kernel void srad_1(out east, out west, out north, out south, in picture, out coefficient,
                         int32_t columns, int32_t rows, float q0) {
  KDL_LOCAL(float, held[side][side]);
  int32_t x = (int32_t)__gpu_thread_id(0), y = (int32_t)__gpu_thread_id(1);
  int32_t column = (int32_t)__gpu_block_id(0) * side + x,
          row = (int32_t)__gpu_block_id(1) * side + y;
  int32_t at = row * columns + column;
  held[y][x] = picture[at];
  __gpu_sync_threads();
  float here = held[y][x];
  float n = (y > 0 ? held[y - 1][x] : picture[larger(row - 1, 0) * columns + column]) - here;
  float s =
      (y < side - 1 ? held[y + 1][x] : picture[smaller(row + 1, rows - 1) * columns + column]) -
      here;
  float w = (x > 0 ? held[y][x - 1] : picture[row * columns + larger(column - 1, 0)]) - here;
  float e =
      (x < side - 1 ? held[y][x + 1] : picture[row * columns + smaller(column + 1, columns - 1)]) -
      here;
  float gradient = (n * n + s * s + w * w + e * e) / (here * here),
        laplacian = (n + s + w + e) / here;
  float numerator = 0.5f * gradient - (1.0f / 16.0f) * (laplacian * laplacian);
  float denominator = 1.0f + 0.25f * laplacian;
  float q = numerator / (denominator * denominator);
  float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  coefficient[at] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
  east[at] = e;
  west[at] = w;
  south[at] = s;
  north[at] = n;
}
KDL_BLOCK(side, side)
__gpu_kernel void srad_2(in east, in west, in north, in south, out picture, in coefficient,
                         int32_t columns, int32_t rows, float lambda) {
  KDL_LOCAL(float, held[side][side]);
  int32_t x = (int32_t)__gpu_thread_id(0), y = (int32_t)__gpu_thread_id(1);
  int32_t column = (int32_t)__gpu_block_id(0) * side + x,
          row = (int32_t)__gpu_block_id(1) * side + y;
  int32_t at = row * columns + column;
  held[y][x] = coefficient[at];
  __gpu_sync_threads();
  float here = held[y][x];
  float cs =
      y < side - 1 ? held[y + 1][x] : coefficient[smaller(row + 1, rows - 1) * columns + column];
  float ce =
      x < side - 1 ? held[y][x + 1] : coefficient[row * columns + smaller(column + 1, columns - 1)];
  float sum = here * north[at] + cs * south[at] + here * west[at] + ce * east[at];
  picture[at] = picture[at] + 0.25f * lambda * sum;
}

// lud: the square on the diagonal, the squares beside and below it, and all the others.
KDL_BLOCK(side)
__gpu_kernel void lud_diagonal(out m, int32_t n, int32_t offset) {
  KDL_LOCAL(float, held[side][side]);
  int32_t t = (int32_t)__gpu_thread_id(0);
  for (int32_t i = 0; i < side; ++i)
    held[i][t] = m[(offset + i) * n + offset + t];
  __gpu_sync_threads();
  for (int32_t i = 0; i < side - 1; ++i) {
    if (t > i) {
      for (int32_t k = 0; k < i; ++k)
        held[t][i] -= held[t][k] * held[k][i];
      held[t][i] /= held[i][i];
    }
    __gpu_sync_threads();
    if (t > i) {
      for (int32_t k = 0; k < i + 1; ++k)
        held[i + 1][t] -= held[i + 1][k] * held[k][t];
    }
    __gpu_sync_threads();
  }
  for (int32_t i = 1; i < side; ++i)
    m[(offset + i) * n + offset + t] = held[i][t];
}
KDL_BLOCK(2 * side)
__gpu_kernel void lud_perimeter(out m, int32_t n, int32_t offset) {
  KDL_LOCAL(float, diagonal[side][side]);
  KDL_LOCAL(float, beside[side][side]);
  KDL_LOCAL(float, below[side][side]);
  int32_t item = (int32_t)__gpu_thread_id(0), t = item % side;
  int32_t other = offset + ((int32_t)__gpu_block_id(0) + 1) * side;
  int32_t is_beside = item < side;
  for (int32_t i = 0; i < side; ++i) {
    if (is_beside) {
      diagonal[i][t] = m[(offset + i) * n + offset + t];
      beside[i][t] = m[(offset + i) * n + other + t];
    } else {
      below[i][t] = m[(other + i) * n + offset + t];
    }
  }
  __gpu_sync_threads();
  for (int32_t i = 0; i < side; ++i) {
    for (int32_t k = 0; k < i; ++k) {
      if (is_beside)
        beside[i][t] -= diagonal[i][k] * beside[k][t];
      else
        below[t][i] -= below[t][k] * diagonal[k][i];
    }
    if (!is_beside)
      below[t][i] /= diagonal[i][i];
  }
  __gpu_sync_threads();
  for (int32_t i = 0; i < side; ++i) {
    if (is_beside)
      m[(offset + i) * n + other + t] = beside[i][t];
    else
      m[(other + i) * n + offset + t] = below[i][t];
  }
}
KDL_BLOCK(side, side)
__gpu_kernel void lud_internal(out m, int32_t n, int32_t offset) {
  KDL_LOCAL(float, beside[side][side]);
  KDL_LOCAL(float, below[side][side]);
  int32_t x = (int32_t)__gpu_thread_id(0), y = (int32_t)__gpu_thread_id(1);
  int32_t row = offset + ((int32_t)__gpu_block_id(1) + 1) * side + y;
  int32_t column = offset + ((int32_t)__gpu_block_id(0) + 1) * side + x;
  beside[y][x] = m[(offset + y) * n + column];
  below[y][x] = m[row * n + offset + x];
  __gpu_sync_threads();
  float sum = 0.0f;
  for (int32_t i = 0; i < side; ++i)
    sum += below[y][i] * beside[i][x];
  m[row * n + column] -= sum;
}

// kmeans: the nearest centre of each point; features lie one behind the other, of all points each.
KDL_BLOCK(256)
__gpu_kernel void kmeans_point(in features, in centres, out_int member, int32_t points,
                               int32_t feature_count, int32_t centre_count) {
  int32_t i = (int32_t)(__gpu_block_id(0) * 256 + __gpu_thread_id(0)), nearest = -1;
  float least = 3.402823466e+38f;
  if (i >= points)
    return;
  for (int32_t c = 0; c < centre_count; ++c) {
    float distance = 0.0f;
    for (int32_t f = 0; f < feature_count; ++f) {
      float apart = features[i + f * points] - centres[c * feature_count + f];
      distance += apart * apart;
    }
    if (distance < least) {
      least = distance;
      nearest = c;
    }
  }
  member[i] = nearest;
}

// gaussian: the multipliers of a column, then what is left of the matrix and the right-hand side.
KDL_BLOCK(64)
__gpu_kernel void gaussian_1(out m, in a, int32_t n, int32_t t) {
  int32_t i = (int32_t)(__gpu_block_id(0) * 64 + __gpu_thread_id(0));
  if (i < n - 1 - t)
    m[n * (i + t + 1) + t] = a[n * (i + t + 1) + t] / a[n * t + t];
}
KDL_BLOCK(side, side)
__gpu_kernel void gaussian_2(in m, out a, out b, int32_t n, int32_t t) {
  int32_t x = (int32_t)(__gpu_block_id(0) * side + __gpu_thread_id(0));
  int32_t y = (int32_t)(__gpu_block_id(1) * side + __gpu_thread_id(1));
  if (x >= n - 1 - t || y >= n - t)
    return;
  a[n * (x + 1 + t) + y + t] -= m[n * (x + 1 + t) + t] * a[n * t + y + t];
  if (y == 0)
    b[x + 1 + t] -= m[n * (x + 1 + t) + t] * b[t];
}
