/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a suite found, whatever it measured: figures, comparisons of two of them, sums that were
 * checked, curves, and what was left out and why. docs/bench.md says what the members mean; the
 * command prints them as text, JSON and more.
 */
#ifndef KDL_BENCH_MEASURE_RESULTS_H
#define KDL_BENCH_MEASURE_RESULTS_H

#include "machine.h"
#include "series.h"

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_NAME = 112 };

/* A time in ns of one operation. `name` is a path: "layers/cold/kdl/load". What was measured is in
 * the series; the rest is known once the results are finished. */
typedef struct bench_figure {
  char name[BENCH_NAME];
  bench_series series;
  double step; /* what the clock cannot tell apart: the interval is at least this to both sides */
  size_t samples, rounds;
  double median, low, high; /* low and high: 95% interval of the median */
  double p5, p95, p99;
} bench_figure;

/* How many times as long `of` took as `to`, block by block. */
typedef struct bench_comparison {
  char of[BENCH_NAME];
  char to[BENCH_NAME];
  bench_series ratios;
  size_t blocks, rounds;
  bench_interval ratio;
} bench_comparison;

/* Whether parts add up to a whole that was measured by itself. */
typedef struct bench_check {
  char name[BENCH_NAME];
  bench_series sums, totals;
  double sum;   /* of the parts of one run, the median of all runs */
  double total; /* the median of the same from outside, or of runs that were not taken apart */
  double slack; /* that the clock cannot tell, in ns */
  bool holds;   /* they differ by at most BENCH_SUM_LIMIT of the total, or the slack */
  bool noisy;   /* they differ by more, but no more than either is known to */
} bench_check;

enum { BENCH_CURVE_POINTS = 16 };

typedef struct bench_curve {
  char name[BENCH_NAME];
  char parameter[32]; /* "images" */
  size_t count;
  double at[BENCH_CURVE_POINTS];
  size_t figures[BENCH_CURVE_POINTS]; /* indices */
  bench_growth growth;                /* where there are two points or more */
} bench_curve;

typedef struct bench_skip {
  char what[64];
  char why[320];
} bench_skip;

typedef struct bench_note {
  char key[32];
  char text[512];
} bench_note;

typedef struct bench_results {
  char suite[16];
  bench_machine machine;
  bench_note *notes; /* the device, the file, the kernel, ... in the order to be shown */
  size_t note_count;
  bench_figure *figures;
  size_t figure_count;
  bench_comparison *comparisons;
  size_t comparison_count;
  bench_check *checks;
  size_t check_count;
  bench_curve *curves;
  size_t curve_count;
  bench_skip *skips;
  size_t skip_count;
  bool interrupted; /* by the user: what there is, is right, but not all that was asked for */
  bool no_memory;   /* something was lost */
} bench_results;

/* By how much of the total a sum may differ from it. */
#define BENCH_SUM_LIMIT 0.02

void bench_results_free(bench_results *results);

void bench_note_add(bench_results *results, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void bench_skip_add(bench_results *results, const char *what, const char *why);

/* The following add to what there is under that name: each call is one round of it. */

/* `step`: what the clock cannot tell apart, in ns. Returns the figure's index. */
size_t bench_figure_add(bench_results *results, const char *name, const double *values,
                        size_t count, double step);

/* The figure of that name, or NULL. */
const bench_figure *bench_figure_find(const bench_results *results, const char *name);

/* How many times as long `of` took as `to`, each value of both from the same block. */
void bench_comparison_add(bench_results *results, const char *of, const char *to,
                          const double *ratios, size_t count);

/* From runs that were taken apart and runs that were not. */
void bench_check_add(bench_results *results, const char *name, const double *sums,
                     const double *totals, size_t count, double slack);

/* The index of the curve of that name, made where there is none. */
size_t bench_curve_add(bench_results *results, const char *name, const char *parameter);
/* A point that is there already is left alone. */
void bench_curve_point(bench_results *results, size_t curve, double at, size_t figure);

/* Everything was added: medians, intervals, verdicts, growth. */
void bench_results_finish(bench_results *results);

#endif
