/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sums and softmax of the rows of a matrix, and attention, compiled once per variant. On a CPU a
 * group does ROWS rows, with LANES independent sums; on a GPU a group of THREADS x ROWS work-items
 * does ROWS rows. Attention on a GPU: a group has QUERIES queries, and SPLIT work-items for each,
 * which divide the keys.
 *
 * Arrays are aligned: else times depend on where a process has its stack.
 */
#include <kdl/kernel.h>

#if KDL_HOST
#ifndef ROWS
#define ROWS 16
#define LANES 16
#endif

static inline float sum_of(const float *x, uint64_t count) {
  _Alignas(64) float lanes[LANES] = {0};
  float sum = 0;
  uint64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int l = 0; l < LANES; ++l)
      lanes[l] += x[i + (uint64_t)l];
  for (int l = 0; l < LANES; ++l)
    sum += lanes[l];
  for (; i < count; ++i)
    sum += x[i];
  return sum;
}

KDL_KERNEL(sums, (1, 1, 1), (ROWS, 1, 1), (const float *, x), (float *, y), (uint32_t, rows),
           (uint32_t, columns)) {
  uint64_t end = kdl_group_end(kdl_group, 0, rows);
  for (uint64_t row = kdl_group_begin(kdl_group, 0); row < end; ++row)
    y[row] = sum_of(x + row * columns, columns);
}

static inline float exp_of(float x) {
  float t = x * 1.44269504f;
  t = t < -126 ? -126 : t;
  int whole = (int)(t + (t < 0 ? -0.5f : 0.5f));
  float f = t - (float)whole;
  float p = 1 + f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * 0.00961813f)));
  union {
    int32_t bits;
    float value;
  } scale = {(whole + 127) << 23};
  return p * scale.value;
}

KDL_KERNEL(softmax, (1, 1, 1), (ROWS, 1, 1), (const float *, x), (float *, y), (uint32_t, rows),
           (uint32_t, columns)) {
  uint64_t end = kdl_group_end(kdl_group, 0, rows);
  for (uint64_t row = kdl_group_begin(kdl_group, 0); row < end; ++row) {
    const float *from = x + row * columns;
    float *to = y + row * columns, largest = from[0];
    _Alignas(64) float most[LANES];
    uint64_t i = 0;
    for (int l = 0; l < LANES; ++l)
      most[l] = from[0];
    for (; i + LANES <= columns; i += LANES)
      for (int l = 0; l < LANES; ++l)
        most[l] = from[i + (uint64_t)l] > most[l] ? from[i + (uint64_t)l] : most[l];
    for (int l = 0; l < LANES; ++l)
      largest = most[l] > largest ? most[l] : largest;
    for (; i < columns; ++i)
      largest = from[i] > largest ? from[i] : largest;
    for (i = 0; i < columns; ++i)
      to[i] = exp_of(from[i] - largest);
    float scale = 1 / sum_of(to, columns);
    for (i = 0; i < columns; ++i)
      to[i] *= scale;
  }
}

/* QUERIES queries of 64 numbers at a time, which share what is read of keys and values; keys in
 * blocks of KEYS. */
#ifndef KEYS
#define KEYS 16
#define QUERIES 2
#endif
enum { head = 64 };

KDL_KERNEL(attention, (1, 1, 1), (QUERIES, 1, 1), (const float *, q), (const float *, k),
           (const float *, v), (float *, out), (uint32_t, queries), (uint32_t, keys)) {
  uint64_t first = kdl_group_begin(kdl_group, 0), end = kdl_group_end(kdl_group, 0, queries);
  _Alignas(64) float result[QUERIES][head] = {{0}};
  float total[QUERIES] = {0}, largest[QUERIES];
  const float *rows[QUERIES];
  for (int r = 0; r < QUERIES; ++r) { /* those beyond the end repeat the last */
    uint64_t row = first + (uint64_t)r < end ? first + (uint64_t)r : end - 1;
    rows[r] = q + row * head;
    largest[r] = -1e30f;
  }
  for (uint64_t begin = 0; begin < keys; begin += KEYS) {
    uint64_t count = keys - begin < KEYS ? keys - begin : KEYS;
    _Alignas(64) float scores[QUERIES][KEYS];
    for (uint64_t j = 0; j < count; ++j) {
      _Alignas(64) float lanes[QUERIES][16] = {{0}};
      for (int d = 0; d < head; d += 16)
        for (int r = 0; r < QUERIES; ++r)
          for (int l = 0; l < 16; ++l)
            lanes[r][l] += rows[r][d + l] * k[(begin + j) * head + (uint64_t)(d + l)];
      for (int r = 0; r < QUERIES; ++r) {
        float sum = 0;
        for (int l = 0; l < 16; ++l)
          sum += lanes[r][l];
        scores[r][j] = sum * 0.125f;
      }
    }
    for (int r = 0; r < QUERIES; ++r) {
      float most = largest[r];
      for (uint64_t j = 0; j < count; ++j)
        most = scores[r][j] > most ? scores[r][j] : most;
      float shrink = exp_of(largest[r] - most);
      for (int d = 0; d < head; ++d)
        result[r][d] *= shrink;
      total[r] *= shrink;
      largest[r] = most;
      for (uint64_t j = 0; j < count; ++j) {
        scores[r][j] = exp_of(scores[r][j] - most);
        total[r] += scores[r][j];
      }
    }
    for (uint64_t j = 0; j < count; ++j)
      for (int r = 0; r < QUERIES; ++r)
        for (int d = 0; d < head; ++d)
          result[r][d] += scores[r][j] * v[(begin + j) * head + (uint64_t)d];
  }
  for (int r = 0; r < QUERIES && first + (uint64_t)r < end; ++r)
    for (int d = 0; d < head; ++d)
      out[(first + (uint64_t)r) * head + (uint64_t)d] = result[r][d] / total[r];
}

#else
#ifndef THREADS
#define THREADS 128
#define ROWS 1
#endif

/* Of the THREADS work-items of a row. */
#define REDUCE(scratch, value, combine)                                                            \
  for (uint32_t step = THREADS / 2; step; step /= 2) {                                             \
    scratch[y][x] = value;                                                                         \
    __gpu_sync_threads();                                                                          \
    float other = scratch[y][x ^ step];                                                            \
    value = combine;                                                                               \
    __gpu_sync_threads();                                                                          \
  }

KDL_BLOCK(THREADS, ROWS)
KDL_TILE(ROWS)
__gpu_kernel void sums(const __gpu_global float *from, __gpu_global float *to, uint32_t rows,
                       uint32_t columns) {
  KDL_LOCAL(float, scratch[ROWS][THREADS]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1), row = __gpu_block_id(0) * ROWS + y;
  float sum = 0;
  for (uint32_t i = x; row < rows && i < columns; i += THREADS)
    sum += from[(uint64_t)row * columns + i];
  REDUCE(scratch, sum, sum + other)
  if (x == 0 && row < rows)
    to[row] = sum;
}

KDL_BLOCK(THREADS, ROWS)
KDL_TILE(ROWS)
__gpu_kernel void softmax(const __gpu_global float *in, __gpu_global float *out, uint32_t rows,
                          uint32_t columns) {
  KDL_LOCAL(float, scratch[ROWS][THREADS]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1), row = __gpu_block_id(0) * ROWS + y;
  const __gpu_global float *from = in + (uint64_t)row * columns;
  __gpu_global float *to = out + (uint64_t)row * columns;
  float most = -1e30f, sum = 0;
  for (uint32_t i = x; row < rows && i < columns; i += THREADS)
    most = from[i] > most ? from[i] : most;
  REDUCE(scratch, most, other > most ? other : most)
  for (uint32_t i = x; row < rows && i < columns; i += THREADS)
    sum += __builtin_exp2f((from[i] - most) * 1.44269504f);
  REDUCE(scratch, sum, sum + other)
  for (uint32_t i = x; row < rows && i < columns; i += THREADS)
    to[i] = __builtin_exp2f((from[i] - most) * 1.44269504f) / sum;
}

#ifndef QUERIES
#define QUERIES 32
#define SPLIT 4
#endif
enum { head = 64, shared_part = 16 };

KDL_BLOCK(QUERIES, SPLIT)
KDL_TILE(QUERIES)
__gpu_kernel void attention(const __gpu_global float *q, const __gpu_global float *k,
                            const __gpu_global float *v, __gpu_global float *out, uint32_t queries,
                            uint32_t keys) {
  KDL_LOCAL(float, scratch[SPLIT][QUERIES][shared_part + 1]);
  KDL_LOCAL(float, largest[SPLIT][QUERIES]);
  uint32_t x = __gpu_thread_id(0), y = __gpu_thread_id(1), row = __gpu_block_id(0) * QUERIES + x;
  const __gpu_global float *from = q + (uint64_t)(row < queries ? row : queries - 1) * head;
  float query[head], result[head + 1], most = -1e30f; /* the last of the results: the sum */
  for (int d = 0; d < head; ++d)
    query[d] = from[d] * (0.125f * 1.44269504f);
  for (int d = 0; d <= head; ++d)
    result[d] = 0;
  for (uint32_t j = y; j < keys; j += SPLIT) {
    float score = 0;
    for (int d = 0; d < head; ++d)
      score += query[d] * k[(uint64_t)j * head + (uint32_t)d];
    if (score > most) {
      float shrink = __builtin_exp2f(most - score);
      for (int d = 0; d <= head; ++d)
        result[d] *= shrink;
      most = score;
    }
    float weight = __builtin_exp2f(score - most);
    for (int d = 0; d < head; ++d)
      result[d] += weight * v[(uint64_t)j * head + (uint32_t)d];
    result[head] += weight;
  }
  largest[y][x] = most;
  __gpu_sync_threads();
  float all = most;
  for (uint32_t i = 0; i < SPLIT; ++i)
    all = largest[i][x] > all ? largest[i][x] : all;
  float scale = __builtin_exp2f(most - all);
  for (int part = 0; part < head; part += shared_part) {
    for (int d = 0; d < shared_part; ++d)
      scratch[y][x][d] = result[part + d] * scale;
    scratch[y][x][shared_part] = result[head] * scale;
    __gpu_sync_threads();
    for (uint32_t d = y; d < shared_part && row < queries; d += SPLIT) {
      float sum = 0, total = 0;
      for (uint32_t i = 0; i < SPLIT; ++i) {
        sum += scratch[i][x][d];
        total += scratch[i][x][shared_part];
      }
      out[(uint64_t)row * head + (uint32_t)part + d] = sum / total;
    }
    __gpu_sync_threads();
  }
}
#endif
