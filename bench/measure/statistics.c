/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct {
  double value;
  size_t place;
} placed;

static int compare_placed(const void *left, const void *right) {
  const placed *a = left, *b = right;
  return (a->value > b->value) - (a->value < b->value);
}

/* Piles that are drawn from rounds. Counting how often each rank was drawn and walking to the
 * middle gives a pile's median, and sorts nothing. */
typedef struct {
  const size_t *ends;
  size_t rounds;
  double *sorted;
  size_t *ranks;    /* of each value */
  uint32_t *counts; /* by rank */
} piles;

static double walk_to_middle(const piles *from, size_t drawn) {
  size_t seen = 0, at = 0;
  while (seen + from->counts[at] <= (drawn - 1) / 2)
    seen += from->counts[at++];
  double low = from->sorted[at];
  while (seen + from->counts[at] <= drawn / 2)
    seen += from->counts[at++];
  return (low + from->sorted[at]) / 2;
}

static double draw_median(const piles *from, size_t run, uint64_t *random) {
  size_t count = from->ends[from->rounds - 1], drawn = 0, start = 0;
  memset(from->counts, 0, count * sizeof *from->counts);
  for (size_t i = 0; i < from->rounds; ++i) {
    if (i % run == 0)
      start = next_random(random) % from->rounds;
    size_t round = (start + i % run) % from->rounds;
    size_t first = round ? from->ends[round - 1] : 0;
    for (size_t k = first; k < from->ends[round]; ++k)
      ++from->counts[from->ranks[k]];
    drawn += from->ends[round] - first;
  }
  return walk_to_middle(from, drawn);
}

static void rank_values(const double *values, size_t count, placed *room, piles *into) {
  for (size_t i = 0; i < count; ++i)
    room[i] = (placed){values[i], i};
  qsort(room, count, sizeof *room, compare_placed);
  for (size_t i = 0; i < count; ++i) {
    into->sorted[i] = room[i].value;
    into->ranks[room[i].place] = i;
  }
}

bench_interval bench_bootstrap(const double *values, const size_t *ends, size_t rounds) {
  size_t count = ends[rounds - 1], run = (size_t)cbrt((double)rounds);
  double medians[draws];
  piles from = {ends, rounds, calloc(count, sizeof(double)), calloc(count, sizeof(size_t)),
                calloc(count, sizeof(uint32_t))};
  placed *room = calloc(count, sizeof *room);
  bench_interval found = {NAN, NAN, NAN}; /* where there is no memory to tell */
  if (room && from.sorted && from.ranks && from.counts) {
    rank_values(values, count, room, &from);
    uint64_t random = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < draws; ++i)
      medians[i] = draw_median(&from, run, &random);
    bench_sort(medians, draws);
    found = (bench_interval){bench_quantile(from.sorted, count, 0.5),
                             bench_quantile(medians, draws, 0.025),
                             bench_quantile(medians, draws, 0.975)};
  }
  free(room);
  free(from.sorted);
  free(from.ranks);
  free(from.counts);
  return found;
}

/* The 95% interval of a median: the order statistics about half of 1.96 standard deviations of a
 * binomial away from the middle. */
bench_interval bench_median_interval(double *values, size_t count) {
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

bench_growth bench_fit_growth(const double *x, const double *y, size_t count) {
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
