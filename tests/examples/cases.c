/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sizes are no multiples of any block or tile; references are in double. */
#include "cases.h"

#include <math.h>
#include <string.h>

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
  enum { count = 100003 };
  static float a = 2.5f, x[count], y[count];
  static uint32_t n = count;
  static double want[count];
  fill(x, count);
  fill(y, count);
  for (size_t i = 0; i < count; ++i)
    want[i] = (double)a * x[i] + y[i];
  *out = (problem){.items = kdl_extent1(count),
                   .arguments = {NUMBER(a), MEMORY(x), MEMORY(y), NUMBER(n)},
                   .argument_count = 4,
                   .result = 2,
                   .want = want,
                   .count = count,
                   .tolerance = 1e-6};
}

static void make_reduce(problem *out) {
  enum { count = 1000003 };
  static float x[count], total[1];
  static uint32_t n = count;
  static double want[1];
  fill(x, count);
  want[0] = 0;
  for (size_t i = 0; i < count; ++i)
    want[0] += x[i] = fabsf(x[i]);
  total[0] = 0;
  *out = (problem){.items = kdl_extent1(count),
                   .arguments = {MEMORY(x), MEMORY(total), NUMBER(n)},
                   .argument_count = 3,
                   .result = 1,
                   .want = want,
                   .count = 1,
                   .tolerance = 1e-5};
}

enum { rows = 67, columns = 1000 };

static void make_softmax(problem *out) {
  static float x[rows * columns], y[rows * columns];
  static uint32_t n = columns;
  static double want[rows * columns];
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
                   .count = COUNT(want),
                   .tolerance = 2e-6};
}

static void make_layernorm(problem *out) {
  static float x[rows * columns], gain[columns], bias[columns], y[rows * columns];
  static float epsilon = 1e-5f;
  static uint32_t n = columns;
  static double want[rows * columns];
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
      .count = COUNT(want),
      .tolerance = 1e-5};
}

static void make_matmul(problem *out) {
  enum { height = 101, width = 147, depth = 93 };
  static float a[height * depth], b[depth * width], c[height * width];
  static uint32_t m = height, n = width, k = depth;
  static double want[height * width];
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
                   .count = COUNT(want),
                   .tolerance = 1e-6};
}

static void make_histogram(problem *out) {
  enum { count = 300007, bins = 256 };
  static uint8_t data[count];
  static uint32_t counts[bins], n = count;
  static double want[bins];
  memset(want, 0, sizeof want);
  for (size_t i = 0; i < count; ++i) {
    float number = next_number();
    data[i] = (uint8_t)(127.5f + 127.0f * number * number * number);
    want[data[i]] += 1;
  }
  memset(counts, 0, sizeof counts);
  *out = (problem){.items = kdl_extent1(count),
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
