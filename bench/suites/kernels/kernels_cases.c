/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Numbers are small integers wherever a kernel only adds and multiplies, so that every sum is exact
 * and a result is right in all its bits or wrong. */
#include "suites/kernels/kernels_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { columns = 1024, bins = 256, group = 256 };
static const size_t pairs = 2 * (size_t)group; /* elements of a group that takes two each */

const char *const kernels_sizes[KERNELS_SIZES] = {"tiny", "small", "large"};

/* ------------------------------------------------------------------------------------------ */
/* Making problems                                                                              */

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static void *add_buffer(kernels_problem *problem, size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, bytes))
    memory = NULL;
  if (memory)
    memset(memory, 0, bytes);
  problem->bytes[problem->buffer_count] = bytes;
  problem->buffers[problem->buffer_count++] = memory;
  return memory;
}

/* Integers from 0 to `most`, times `step`. */
static void add_floats(kernels_problem *problem, size_t count, uint32_t most, float step) {
  float *numbers = add_buffer(problem, count * sizeof *numbers);
  uint32_t seed = (uint32_t)problem->buffer_count;
  for (size_t i = 0; numbers && i < count; ++i)
    numbers[i] = (float)(next_random(&seed) % (most + 1)) * step;
}

static void add_result(kernels_problem *problem, size_t bytes) {
  problem->result = problem->buffer_count;
  add_buffer(problem, bytes);
}

static void pass_argument(kernels_problem *problem, int buffer, uint32_t bits) {
  problem->arguments[problem->argument_count++] = (kernels_argument){buffer, bits};
}

static void pass_buffers(kernels_problem *problem) {
  for (size_t i = 0; i < problem->buffer_count; ++i)
    pass_argument(problem, (int)i, 0);
}

static void pass_float(kernels_problem *problem, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  pass_argument(problem, -1, bits);
}

static void make_saxpy(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n);
  add_floats(p, n, 7, 1);
  add_floats(p, n, 7, 1);
  p->result = 1;
  pass_float(p, 2.0f);
  pass_buffers(p);
  pass_argument(p, -1, n);
}

/* One in sixteen is 1: the sum of 64 Mi numbers is below 2^24, up to which floats count. */
static void make_reduce(uint32_t n, kernels_problem *p) {
  float *numbers = add_buffer(p, (size_t)n * sizeof *numbers);
  uint32_t seed = 1;
  p->items = kdl_extent1(n);
  for (size_t i = 0; numbers && i < n; ++i)
    numbers[i] = next_random(&seed) >> 20 ? 0.0f : 1.0f;
  add_result(p, sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

static void make_softmax(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n);
  add_floats(p, (size_t)n * columns, 64, 0.125f);
  add_result(p, (size_t)n * columns * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, columns);
}

static void make_layernorm(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n);
  add_floats(p, (size_t)n * columns, 64, 0.125f);
  add_floats(p, columns, 16, 0.125f);
  add_floats(p, columns, 16, 0.125f);
  add_result(p, (size_t)n * columns * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, columns);
  pass_float(p, 1e-5f);
}

static void make_product(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent2(n, n);
  add_floats(p, (size_t)n * n, 3, 1);
  add_floats(p, (size_t)n * n, 3, 1);
  add_result(p, (size_t)n * n * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

static void make_matmul(uint32_t n, kernels_problem *p) {
  make_product(n, p);
  pass_argument(p, -1, n);
  pass_argument(p, -1, n);
}

static void make_bytes(uint32_t n, kernels_problem *p) {
  uint8_t *data = add_buffer(p, n);
  uint32_t seed = 1;
  p->items = kdl_extent1(n);
  for (size_t i = 0; data && i < n; ++i)
    data[i] = (uint8_t)(next_random(&seed) >> 12);
  add_result(p, bins * sizeof(uint32_t));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

/* With as many results as `n / share`, and a work-item for each `each` numbers. */
static void make_array_problem(uint32_t n, uint32_t share, uint32_t each, kernels_problem *p) {
  p->items = kdl_extent1(n / each);
  add_floats(p, n, 3, 1);
  add_result(p, (size_t)n / share * sizeof(float));
  pass_buffers(p);
}

static void make_tree(uint32_t n, kernels_problem *p) {
  make_array_problem(n, 2 * group, 2, p);
  pass_argument(p, -1, n);
}

static void make_scan(uint32_t n, kernels_problem *p) {
  make_array_problem(n, 1, 1, p);
  pass_argument(p, -1, n);
}

static void add_words(kernels_problem *p, uint32_t n) {
  uint32_t *words = add_buffer(p, (size_t)n * sizeof *words);
  uint32_t seed = 1;
  for (size_t i = 0; words && i < n; ++i)
    words[i] = next_random(&seed);
}

static void make_counts(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n / 16);
  add_words(p, n);
  add_result(p, bins * sizeof(uint32_t));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

static void make_sort(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n / 2);
  add_words(p, n);
  add_result(p, (size_t)n * sizeof(uint32_t));
  pass_buffers(p);
}

static void make_square(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent2(n, n);
  add_floats(p, (size_t)n * n, 7, 1);
  add_result(p, (size_t)n * n * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

static void make_triad(uint32_t n, kernels_problem *p) {
  p->items = kdl_extent1(n);
  add_floats(p, n, 7, 1);
  add_floats(p, n, 7, 1);
  add_result(p, (size_t)n * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

/* Of `n` results and some elements more. */
static void make_map(uint32_t n, uint32_t more, kernels_problem *p) {
  p->items = kdl_extent1(n);
  add_floats(p, (size_t)n + more, 7, 1);
  add_result(p, (size_t)n * sizeof(float));
  pass_buffers(p);
  pass_argument(p, -1, n);
}

static void make_line(uint32_t n, kernels_problem *p) {
  make_map(n, 2, p);
}

static void make_compute(uint32_t n, kernels_problem *p) {
  make_map(n, 0, p);
}

/* bf16 is the upper half of f32. */
static void make_bf16_product(uint32_t n, kernels_problem *p) {
  make_product(n, p);
  for (size_t i = 0; i < 2 && p->buffers[i]; ++i) {
    uint16_t *halves = p->buffers[i];
    for (size_t k = 0; k < (size_t)n * n; ++k)
      halves[k] = halves[2 * k + 1];
  }
}

/* ------------------------------------------------------------------------------------------ */
/* What is right                                                                                */

/* The largest difference and the largest number so far. NaN is farthest of all. */
typedef struct {
  double max_error, largest;
} error_stats;

static void accumulate_error(error_stats *d, double found, double expected) {
  double apart = fabs(found - expected);
  if (!(apart <= d->max_error))
    d->max_error = apart;
  d->largest = fmax(d->largest, fabs(expected));
}

static double relative_error(const error_stats *d) {
  return d->max_error == 0 ? 0 : d->max_error / fmax(d->largest, 1e-30);
}

static double saxpy_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = p->buffers[1], *z = result;
  error_stats d = {0, 0};
  for (size_t i = 0; i < p->n; ++i)
    accumulate_error(&d, z[i], 2.0 * x[i] + y[i]);
  return relative_error(&d);
}

static double triad_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = p->buffers[1], *z = result;
  error_stats d = {0, 0};
  for (size_t i = 0; i < p->n; ++i)
    accumulate_error(&d, z[i], x[i] + 2.0 * y[i]);
  return relative_error(&d);
}

static double line_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = result;
  error_stats d = {0, 0};
  for (size_t i = 0; i < p->n; ++i)
    accumulate_error(&d, y[i], 0.25 * (x[i] + 2.0 * x[i + 1] + x[i + 2]));
  return relative_error(&d);
}

static double compute_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = result;
  error_stats d = {0, 0};
  for (size_t i = 0; i < p->n; ++i)
    accumulate_error(&d, y[i], 2.0 * x[i]);
  return relative_error(&d);
}

static double reduce_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0];
  error_stats d = {0, 0};
  double sum = 0;
  for (size_t i = 0; i < p->n; ++i)
    sum += x[i];
  accumulate_error(&d, *(const float *)result, sum);
  return relative_error(&d);
}

/* Some rows, the last among them: a reference of all takes longer than what is measured. */
static size_t next_row(size_t row, size_t rows) {
  size_t step = rows / 37 + 1;
  return row + 1 == rows ? rows : row + step < rows ? row + step : rows - 1;
}

static double softmax_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = result;
  error_stats d = {0, 0};
  for (size_t row = 0; row < p->n; row = next_row(row, p->n)) {
    double sum = 0;
    for (size_t i = row * columns; i < (row + 1) * columns; ++i)
      sum += exp((double)x[i]);
    for (size_t i = row * columns; i < (row + 1) * columns; ++i)
      accumulate_error(&d, y[i], exp((double)x[i]) / sum);
  }
  return relative_error(&d);
}

static double layernorm_error(const kernels_problem *p, const void *result) {
  const float *gain = p->buffers[1], *bias = p->buffers[2];
  error_stats d = {0, 0};
  for (size_t row = 0; row < p->n; row = next_row(row, p->n)) {
    const float *x = (const float *)p->buffers[0] + row * columns;
    const float *y = (const float *)result + row * columns;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < columns; ++i)
      mean += x[i] / (double)columns;
    for (size_t i = 0; i < columns; ++i)
      variance += (x[i] - mean) * (x[i] - mean) / (double)columns;
    for (size_t i = 0; i < columns; ++i)
      accumulate_error(&d, y[i], (x[i] - mean) / sqrt(variance + 1e-5) * gain[i] + bias[i]);
  }
  return relative_error(&d);
}

static double product_error(const kernels_problem *p, const void *result) {
  const float *a = p->buffers[0], *b = p->buffers[1], *c = result;
  error_stats d = {0, 0};
  for (size_t row = 0; row < p->n; row = next_row(row, p->n)) {
    for (size_t column = 0; column < p->n; ++column) {
      double sum = 0;
      for (size_t i = 0; i < p->n; ++i)
        sum += (double)a[row * p->n + i] * b[i * p->n + column];
      accumulate_error(&d, c[row * p->n + column], sum);
    }
  }
  return relative_error(&d);
}

static float widen_bf16(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double bf16_product_error(const kernels_problem *p, const void *result) {
  const uint16_t *a = p->buffers[0], *b = p->buffers[1];
  const float *c = result;
  error_stats d = {0, 0};
  for (size_t row = 0; row < p->n; row = next_row(row, p->n)) {
    for (size_t column = 0; column < p->n; ++column) {
      double sum = 0;
      for (size_t i = 0; i < p->n; ++i)
        sum += (double)widen_bf16(a[row * p->n + i]) * widen_bf16(b[i * p->n + column]);
      accumulate_error(&d, c[row * p->n + column], sum);
    }
  }
  return relative_error(&d);
}

static double compare_counts(const double expected[bins], const uint32_t *found) {
  error_stats d = {0, 0};
  for (size_t i = 0; i < bins; ++i)
    accumulate_error(&d, found[i], expected[i]);
  return relative_error(&d);
}

static double bytes_error(const kernels_problem *p, const void *result) {
  const uint8_t *data = p->buffers[0];
  double counts[bins] = {0};
  for (size_t i = 0; i < p->n; ++i)
    counts[data[i]] += 1;
  return compare_counts(counts, result);
}

static double counts_error(const kernels_problem *p, const void *result) {
  const uint32_t *data = p->buffers[0];
  double counts[bins] = {0};
  for (size_t i = 0; i < p->n; ++i)
    counts[data[i] % bins] += 1;
  return compare_counts(counts, result);
}

static double tree_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *sums = result;
  error_stats d = {0, 0};
  for (size_t first = 0; first < p->n; first += pairs) {
    double sum = 0;
    for (size_t i = first; i < first + pairs; ++i)
      sum += x[i];
    accumulate_error(&d, sums[first / pairs], sum);
  }
  return relative_error(&d);
}

static double scan_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *sums = result;
  error_stats d = {0, 0};
  double sum = 0;
  for (size_t i = 0; i < p->n; ++i) {
    sum = i % group ? sum + x[i] : x[i];
    accumulate_error(&d, sums[i], sum);
  }
  return relative_error(&d);
}

static int compare_words(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static double sort_error(const kernels_problem *p, const void *result) {
  const uint32_t *from = p->buffers[0], *found = result;
  error_stats d = {0, 0};
  for (size_t first = 0; first < p->n; first += pairs) {
    uint32_t sorted[2 * group];
    memcpy(sorted, from + first, sizeof sorted);
    qsort(sorted, pairs, sizeof *sorted, compare_words);
    for (size_t i = 0; i < pairs; ++i)
      accumulate_error(&d, found[first + i], sorted[i]);
  }
  return relative_error(&d);
}

static double transpose_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = result;
  error_stats d = {0, 0};
  for (size_t row = 0; row < p->n; ++row) {
    for (size_t column = 0; column < p->n; ++column)
      accumulate_error(&d, y[column * p->n + row], x[row * p->n + column]);
  }
  return relative_error(&d);
}

/* A fifth, as floats have it, of a sum that is exact: rounded once. */
static double stencil_error(const kernels_problem *p, const void *result) {
  const float *x = p->buffers[0], *y = result;
  size_t n = p->n;
  error_stats d = {0, 0};
  for (size_t i = 0; i < n * n; ++i) {
    size_t column = i % n, row = i / n;
    float sum = x[i];
    sum += column ? x[i - 1] : 0;
    sum += column + 1 < n ? x[i + 1] : 0;
    sum += row ? x[i - n] : 0;
    sum += row + 1 < n ? x[i + n] : 0;
    accumulate_error(&d, y[i], 0.2f * sum);
  }
  return relative_error(&d);
}

/* ------------------------------------------------------------------------------------------ */

#define K *1024
#define M *1048576

const kernels_case kernels_cases[] = {
    {"saxpy", "saxpy", "saxpy", {4 K, 16 K, 4 M}, {4 K, 64 K, 64 M}, make_saxpy, saxpy_error, 0},
    {"reduce",
     "reduce",
     "reduce",
     {4 K, 16 K, 4 M},
     {4 K, 64 K, 64 M},
     make_reduce,
     reduce_error,
     0},
    {"softmax",
     "softmax",
     "softmax",
     {2, 16, 2 K},
     {2, 64, 64 K},
     make_softmax,
     softmax_error,
     2e-6},
    {"layernorm",
     "layernorm",
     "layernorm",
     {2, 16, 2 K},
     {2, 64, 64 K},
     make_layernorm,
     layernorm_error,
     1e-5},
    {"matmul", "matmul", "matmul", {32, 64, 512}, {32, 128, 2 K}, make_matmul, product_error, 0},
    {"matmul_tiled",
     "matmul_tiled",
     "matmul",
     {32, 64, 512},
     {32, 128, 2 K},
     make_matmul,
     product_error,
     0},
    {"histogram",
     "histogram",
     "histogram",
     {8 K, 64 K, 16 M},
     {8 K, 64 K, 256 M},
     make_bytes,
     bytes_error,
     0},
    {"group_reduce",
     "barriers",
     "reduce",
     {4 K, 16 K, 4 M},
     {4 K, 64 K, 64 M},
     make_tree,
     tree_error,
     0},
    {"group_scan",
     "barriers",
     "scan",
     {4 K, 16 K, 4 M},
     {4 K, 64 K, 64 M},
     make_scan,
     scan_error,
     0},
    {"group_matmul",
     "barriers",
     "matmul",
     {32, 64, 512},
     {32, 128, 2 K},
     make_product,
     product_error,
     0},
    {"group_transpose",
     "barriers",
     "transpose",
     {64, 128, 1 K},
     {64, 256, 8 K},
     make_square,
     transpose_error,
     0},
    {"group_histogram",
     "barriers",
     "histogram",
     {4 K, 16 K, 4 M},
     {4 K, 64 K, 64 M},
     make_counts,
     counts_error,
     0},
    {"group_sort",
     "barriers",
     "sort",
     {4 K, 16 K, 1 M},
     {4 K, 64 K, 16 M},
     make_sort,
     sort_error,
     0},
    {"group_stencil",
     "barriers",
     "stencil",
     {64, 128, 1 K},
     {64, 256, 8 K},
     make_square,
     stencil_error,
     0},
    {"triad", "scale", "triad", {4 K, 64 K, 16 M}, {4 K, 64 K, 64 M}, make_triad, triad_error, 0},
    {"stencil",
     "scale",
     "stencil",
     {4 K, 64 K, 16 M},
     {4 K, 64 K, 64 M},
     make_line,
     line_error,
     1e-7},
    {"compute",
     "scale",
     "compute",
     {4 K, 64 K, 1 M},
     {4 K, 64 K, 64 M},
     make_compute,
     compute_error,
     1e-7},
    {"gemm", NULL, NULL, {32, 256, 1 K}, {32, 256, 1 K}, make_product, product_error, 0},
    {"gemm_bf16",
     NULL,
     NULL,
     {32, 256, 1 K},
     {32, 256, 1 K},
     make_bf16_product,
     bf16_product_error,
     0},
};
const size_t kernels_case_count = sizeof kernels_cases / sizeof *kernels_cases;

bool kernels_problem_make(const kernels_case *of, uint32_t n, kernels_problem *out_problem) {
  *out_problem = (kernels_problem){.n = n};
  of->make(n, out_problem);
  bool made = true;
  for (size_t i = 0; i < out_problem->buffer_count; ++i)
    made = made && out_problem->buffers[i];
  if (!made)
    kernels_problem_free(out_problem);
  return made;
}

void kernels_problem_free(kernels_problem *problem) {
  for (size_t i = 0; i < problem->buffer_count; ++i)
    free(problem->buffers[i]);
  *problem = (kernels_problem){.n = 0};
}
