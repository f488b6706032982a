/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a pile of times says: quantiles, how well the median is known, ratios, growth. */
#ifndef KDL_BENCH_MEASURE_STATISTICS_H
#define KDL_BENCH_MEASURE_STATISTICS_H

#include <stddef.h>

void bench_sort(double *values, size_t count);

/* Of sorted values, between the two neighbours; 0.5 is the median. `count` is at least 1. */
double bench_quantile(const double *sorted, size_t count, double quantile);

typedef struct bench_interval {
  double median, low, high; /* 95% interval of the median */
} bench_interval;

/* The median of values that came in rounds, in the order of time: round i ends before value
 * ends[i]. What a round has in common (a process: where things lie in memory, which neighbours the
 * machine had) moves all of its values together, so that rounds are drawn and not values; and what
 * neighbouring rounds have in common moves these, so that they are drawn in runs. A thousand piles
 * are drawn so, with replacement; the draws are the same on every call. */
bench_interval bench_bootstrap(const double *values, const size_t *ends, size_t rounds);

/* By order statistics, for values that have nothing to do with each other. Sorts the values. */
bench_interval bench_median_interval(double *values, size_t count);

typedef struct bench_growth {
  double exponent; /* y grows as x to this power */
  double at_one;   /* and is this at 1 */
} bench_growth;

/* Least squares through the logarithms. `count` is at least 2, all values above 0. */
bench_growth bench_fit_growth(const double *x, const double *y, size_t count);

#endif
