/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sizes are no multiples of any block or tile; references are in double. */
#include "cases.h"

#include <math.h>
#include <string.h>

bool test_cases_are_small;

/* The same numbers everywhere, between -1 and 1. */
static float next_number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void fill(float *numbers, size_t count) {
  for (size_t i = 0; i < count; ++i)
    numbers[i] = next_number();
}

#define NUMBER(v) ((argument){&(v), NULL, sizeof(v)})
#define MEMORY(v) ((argument){NULL, (v), sizeof(v)})
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void make_saxpy(problem *out) {
  enum { most = 100003 };
  static float a = 2.5f, x[most], y[most];
  static uint32_t n;
  static double want[most];
  const size_t count = test_cases_are_small ? 1003 : most;
  n = (uint32_t)count;
  fill(x, count);
  fill(y, count);
  for (size_t i = 0; i < count; ++i)
    want[i] = (double)a * x[i] + y[i];
  *out = (problem){.items = kdl_extent1(n),
                   .arguments = {NUMBER(a), MEMORY(x), MEMORY(y), NUMBER(n)},
                   .argument_count = 4,
                   .result = 2,
                   .want = want,
                   .count = count,
                   .tolerance = 1e-6};
}

static void make_reduce(problem *out) {
  enum { most = 1000003 };
  static float x[most], total[1];
  static uint32_t n;
  static double want[1];
  const size_t count = test_cases_are_small ? 9003 : most;
  n = (uint32_t)count;
  fill(x, count);
  want[0] = 0;
  for (size_t i = 0; i < count; ++i)
    want[0] += x[i] = fabsf(x[i]);
  total[0] = 0;
  *out = (problem){.items = kdl_extent1(n),
                   .arguments = {MEMORY(x), MEMORY(total), NUMBER(n)},
                   .argument_count = 3,
                   .result = 1,
                   .want = want,
                   .count = 1,
                   .tolerance = 1e-5};
}

enum { most_rows = 67, columns = 1000 };

static uint32_t row_count(void) {
  return test_cases_are_small ? 3 : most_rows;
}

static void make_softmax(problem *out) {
  const uint32_t rows = row_count();
  static float x[most_rows * columns], y[most_rows * columns];
  static uint32_t n = columns;
  static double want[most_rows * columns];
  fill(x, COUNT(x));
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) {
      x[i] *= 20;
      sum += want[i] = exp((double)x[i]);
    }
    for (size_t i = row * columns; i < (row + 1) * columns; ++i)
      want[i] /= sum;
  }
  *out = (problem){.items = kdl_extent1(rows),
                   .arguments = {MEMORY(x), MEMORY(y), NUMBER(n)},
                   .argument_count = 3,
                   .result = 1,
                   .want = want,
                   .count = (size_t)rows * columns,
                   .tolerance = 2e-6};
}

static void make_layernorm(problem *out) {
  const uint32_t rows = row_count();
  static float x[most_rows * columns], gain[columns], bias[columns], y[most_rows * columns];
  static float epsilon = 1e-5f;
  static uint32_t n = columns;
  static double want[most_rows * columns];
  fill(x, COUNT(x));
  fill(gain, columns);
  fill(bias, columns);
  for (size_t row = 0; row < rows; ++row) {
    const float *from = x + row * columns;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < columns; ++i)
      mean += from[i] / (double)columns;
    for (size_t i = 0; i < columns; ++i)
      variance += (from[i] - mean) * (from[i] - mean) / (double)columns;
    for (size_t i = 0; i < columns; ++i)
      want[row * columns + i] =
          (from[i] - mean) / sqrt(variance + (double)epsilon) * gain[i] + bias[i];
  }
  *out = (problem){
      .items = kdl_extent1(rows),
      .arguments = {MEMORY(x), MEMORY(gain), MEMORY(bias), MEMORY(y), NUMBER(n), NUMBER(epsilon)},
      .argument_count = 6,
      .result = 3,
      .want = want,
      .count = (size_t)rows * columns,
      .tolerance = 1e-5};
}

static void make_matmul(problem *out) {
  enum { most_height = 101, most_width = 147, most_depth = 93 };
  static float a[most_height * most_depth], b[most_depth * most_width], c[most_height * most_width];
  static uint32_t m, n, k;
  static double want[most_height * most_width];
  const uint32_t height = m = test_cases_are_small ? 19 : most_height;
  const uint32_t width = n = test_cases_are_small ? 35 : most_width;
  const uint32_t depth = k = test_cases_are_small ? 21 : most_depth;
  fill(a, COUNT(a));
  fill(b, COUNT(b));
  memset(want, 0, sizeof want);
  for (size_t row = 0; row < height; ++row) {
    for (size_t i = 0; i < depth; ++i) {
      for (size_t column = 0; column < width; ++column)
        want[row * width + column] += (double)a[row * depth + i] * b[i * width + column];
    }
  }
  *out = (problem){.items = kdl_extent2(width, height),
                   .arguments = {MEMORY(a), MEMORY(b), MEMORY(c), NUMBER(m), NUMBER(n), NUMBER(k)},
                   .argument_count = 6,
                   .result = 2,
                   .want = want,
                   .count = (size_t)height * width,
                   .tolerance = 1e-6};
}

static void make_histogram(problem *out) {
  enum { most = 300007, bins = 256 };
  static uint8_t data[most];
  static uint32_t counts[bins], n;
  static double want[bins];
  const size_t count = test_cases_are_small ? 9007 : most;
  n = (uint32_t)count;
  memset(want, 0, sizeof want);
  for (size_t i = 0; i < count; ++i) {
    float number = next_number();
    data[i] = (uint8_t)(127.5f + 127.0f * number * number * number);
    want[data[i]] += 1;
  }
  memset(counts, 0, sizeof counts);
  *out = (problem){.items = kdl_extent1(n),
                   .arguments = {MEMORY(data), MEMORY(counts), NUMBER(n)},
                   .argument_count = 3,
                   .result = 1,
                   .want = want,
                   .count = bins,
                   .is_integer = true};
}

const test_case test_cases[] = {
    {"saxpy", make_saxpy},         {"reduce", make_reduce}, {"softmax", make_softmax},
    {"layernorm", make_layernorm}, {"matmul", make_matmul}, {"histogram", make_histogram},
};
const size_t test_case_count = COUNT(test_cases);
