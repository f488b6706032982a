/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Values of one thing that was measured, round by round in the order of time. */
#ifndef KDL_BENCH_MEASURE_SERIES_H
#define KDL_BENCH_MEASURE_SERIES_H

#include "statistics.h"

#include <stdbool.h>

typedef struct bench_series {
  double *values;
  size_t count;
  size_t *ends; /* round i ends before values[ends[i]] */
  size_t rounds;
} bench_series;

/* One more round; false when out of memory. A round of nothing is none. */
bool bench_series_add(bench_series *series, const double *values, size_t count);
void bench_series_free(bench_series *series);

/* The median with its interval. Of fewer than five rounds, every value counts as one of its own:
 * so few tell nothing of how rounds differ. */
bench_interval bench_series_median(const bench_series *series);

/* Likewise, and the interval holds the medians of the five fifths of the time: where nothing
 * drifts they seldom lie outside; where something does, the next run may be as far away as they. */
bench_interval bench_series_median_drifting(const bench_series *series);

#endif
