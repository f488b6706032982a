/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { least_rounds = 5, fifths = 5 };

bool bench_series_add(bench_series *series, const double *values, size_t count) {
  if (!count)
    return true;
  double *longer = realloc(series->values, (series->count + count) * sizeof *longer);
  if (longer)
    series->values = longer;
  size_t *more = realloc(series->ends, (series->rounds + 1) * sizeof *more);
  if (more)
    series->ends = more;
  if (!longer || !more)
    return false;
  memcpy(longer + series->count, values, count * sizeof *values);
  series->count += count;
  series->ends[series->rounds++] = series->count;
  return true;
}

void bench_series_free(bench_series *series) {
  free(series->values);
  free(series->ends);
  *series = (bench_series){.count = 0};
}

bench_interval bench_series_median(const bench_series *series) {
  if (series->rounds >= least_rounds)
    return bench_bootstrap(series->values, series->ends, series->rounds);
  size_t *ends = calloc(series->count, sizeof *ends);
  if (!ends)
    return (bench_interval){NAN, NAN, NAN};
  for (size_t i = 0; i < series->count; ++i)
    ends[i] = i + 1;
  bench_interval found = bench_bootstrap(series->values, ends, series->count);
  free(ends);
  return found;
}

bench_interval bench_series_median_drifting(const bench_series *series) {
  bench_interval found = bench_series_median(series);
  double *room = calloc(series->count, sizeof *room);
  for (size_t i = 0, first = 0; i < fifths && series->rounds >= fifths; ++i) {
    size_t last = series->ends[(i + 1) * series->rounds / fifths - 1];
    if (!room)
      return (bench_interval){NAN, NAN, NAN};
    memcpy(room, series->values + first, (last - first) * sizeof *room);
    bench_sort(room, last - first);
    double median = bench_quantile(room, last - first, 0.5);
    found.low = fmin(found.low, median);
    found.high = fmax(found.high, median);
    first = last;
  }
  free(room);
  return found;
}
