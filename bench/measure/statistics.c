/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

void bench_sort(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
}

double bench_quantile(const double *sorted, size_t count, double quantile) {
  double position = quantile * (double)(count - 1);
  size_t below = (size_t)position;
  size_t above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (sorted[above] - sorted[below]) * (position - (double)below);
}

/* ------------------------------------------------------------------------------------------ */
/* Intervals                                                                                    */

enum { draws = 1000 };

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* The median of a pile drawn with replacement from sorted values needs no pile: counting how often
 * each rank was drawn and walking to the middle gives it. */
static double draw_median(const double *sorted, size_t count, uint32_t *counts, uint64_t *random) {
  for (size_t i = 0; i < count; ++i)
    counts[i] = 0;
  for (size_t i = 0; i < count; ++i)
    ++counts[next_random(random) % count];
  size_t seen = 0, at = 0;
  while (seen + counts[at] <= (count - 1) / 2)
    seen += counts[at++];
  double low = sorted[at];
  while (seen + counts[at] <= count / 2)
    seen += counts[at++];
  return (low + sorted[at]) / 2;
}

bench_interval bench_bootstrap(double *values, size_t count) {
  bench_sort(values, count);
  double median = bench_quantile(values, count, 0.5);
  double medians[draws];
  uint32_t *counts = calloc(count, sizeof *counts);
  if (!counts)
    return (bench_interval){median, values[0], values[count - 1]};
  uint64_t random = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < draws; ++i)
    medians[i] = draw_median(values, count, counts, &random);
  free(counts);
  bench_sort(medians, draws);
  return (bench_interval){median, bench_quantile(medians, draws, 0.025),
                          bench_quantile(medians, draws, 0.975)};
}

/* The 95% interval of a median: the order statistics about half of 1.96 standard deviations of a
 * binomial away from the middle. */
bench_interval bench_interval_of(double *values, size_t count) {
  bench_sort(values, count);
  double half = 0.98 * sqrt((double)count);
  double low = floor((double)count / 2 - half);
  double high = ceil((double)count / 2 + half);
  size_t first = low < 0 ? 0 : (size_t)low;
  size_t last = high >= (double)count ? count - 1 : (size_t)high;
  return (bench_interval){bench_quantile(values, count, 0.5), values[first], values[last]};
}

/* ------------------------------------------------------------------------------------------ */
/* Growth                                                                                       */

bench_growth bench_fit(const double *x, const double *y, size_t count) {
  double mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < count; ++i) {
    mean_x += log(x[i]) / (double)count;
    mean_y += log(y[i]) / (double)count;
  }
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < count; ++i) {
    double from_mean = log(x[i]) - mean_x;
    covariance += from_mean * (log(y[i]) - mean_y);
    variance += from_mean * from_mean;
  }
  double exponent = variance > 0 ? covariance / variance : 0;
  return (bench_growth){exponent, exp(mean_y - exponent * mean_x)};
}
