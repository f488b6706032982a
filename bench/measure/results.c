/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "results.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_results_free(bench_results *results) {
  for (size_t i = 0; i < results->figure_count; ++i)
    bench_series_free(&results->figures[i].series);
  for (size_t i = 0; i < results->comparison_count; ++i)
    bench_series_free(&results->comparisons[i].ratios);
  for (size_t i = 0; i < results->check_count; ++i) {
    bench_series_free(&results->checks[i].sums);
    bench_series_free(&results->checks[i].totals);
  }
  free(results->notes);
  free(results->figures);
  free(results->comparisons);
  free(results->checks);
  free(results->curves);
  free(results->skips);
  *results = (bench_results){.note_count = 0};
}

/* Room for one more at the end of an array; NULL when out of memory, which is remembered. */
static void *grow_results(bench_results *results, void *array, size_t *count, size_t size) {
  void **at = array;
  void *larger = realloc(*at, (*count + 1) * size);
  if (!larger) {
    results->no_memory = true;
    return NULL;
  }
  *at = larger;
  char *added = (char *)larger + *count * size;
  memset(added, 0, size);
  ++*count;
  return added;
}

#define ADD(results, member)                                                                       \
  grow_results(results, &(results)->member##s, &(results)->member##_count,                         \
               sizeof *(results)->member##s)

void bench_note_add(bench_results *results, const char *key, const char *format, ...) {
  for (size_t i = 0; i < results->note_count; ++i) {
    if (strcmp(results->notes[i].key, key) == 0)
      return;
  }
  bench_note *note = ADD(results, note);
  if (!note)
    return;
  snprintf(note->key, sizeof note->key, "%s", key);
  va_list args;
  va_start(args, format);
  vsnprintf(note->text, sizeof note->text, format, args);
  va_end(args);
}

void bench_skip_add(bench_results *results, const char *what, const char *why) {
  for (size_t i = 0; i < results->skip_count; ++i) {
    if (strcmp(results->skips[i].what, what) == 0)
      return;
  }
  bench_skip *skip = ADD(results, skip);
  if (!skip)
    return;
  snprintf(skip->what, sizeof skip->what, "%s", what);
  snprintf(skip->why, sizeof skip->why, "%s", why);
}

static void set_name(char name[BENCH_NAME], const char *text) {
  snprintf(name, BENCH_NAME, "%s", text);
}

static void add_round(bench_results *results, bench_series *series, const double *values,
                      size_t count) {
  if (!bench_series_add(series, values, count))
    results->no_memory = true;
}

/* ------------------------------------------------------------------------------------------ */
/* Figures                                                                                      */

const bench_figure *bench_figure_find(const bench_results *results, const char *name) {
  for (size_t i = 0; i < results->figure_count; ++i) {
    if (strcmp(results->figures[i].name, name) == 0)
      return &results->figures[i];
  }
  return NULL;
}

size_t bench_figure_add(bench_results *results, const char *name, const double *values,
                        size_t count, double step) {
  const bench_figure *known = bench_figure_find(results, name);
  size_t index = known ? (size_t)(known - results->figures) : results->figure_count;
  bench_figure *figure = known ? &results->figures[index] : ADD(results, figure);
  if (!figure)
    return index;
  set_name(figure->name, name);
  figure->step = step > figure->step ? step : figure->step;
  add_round(results, &figure->series, values, count);
  return index;
}

static void finish_figure(bench_results *results, bench_figure *figure) {
  size_t count = figure->series.count;
  double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) {
    results->no_memory |= count != 0;
    return;
  }
  memcpy(sorted, figure->series.values, count * sizeof *sorted);
  bench_sort(sorted, count);
  figure->samples = count;
  figure->rounds = figure->series.rounds;
  figure->p5 = bench_quantile(sorted, count, 0.05);
  figure->p95 = bench_quantile(sorted, count, 0.95);
  figure->p99 = bench_quantile(sorted, count, 0.99);
  free(sorted);
  bench_interval found = bench_series_median_drifting(&figure->series);
  results->no_memory |= isnan(found.median);
  figure->median = found.median;
  figure->low = fmin(found.low, found.median - figure->step);
  figure->high = fmax(found.high, found.median + figure->step);
}

/* ------------------------------------------------------------------------------------------ */
/* Comparisons and checks                                                                       */

void bench_comparison_add(bench_results *results, const char *of, const char *to,
                          const double *ratios, size_t count) {
  bench_comparison *added = NULL;
  for (size_t i = 0; i < results->comparison_count && !added; ++i) {
    bench_comparison *known = &results->comparisons[i];
    if (strcmp(known->of, of) == 0 && strcmp(known->to, to) == 0)
      added = known;
  }
  if (!added && count)
    added = ADD(results, comparison);
  if (!added)
    return;
  set_name(added->of, of);
  set_name(added->to, to);
  add_round(results, &added->ratios, ratios, count);
}

void bench_check_add(bench_results *results, const char *name, const double *sums,
                     const double *totals, size_t count, double slack) {
  bench_check *check = NULL;
  for (size_t i = 0; i < results->check_count && !check; ++i)
    check = strcmp(results->checks[i].name, name) == 0 ? &results->checks[i] : NULL;
  if (!check && count)
    check = ADD(results, check);
  if (!check)
    return;
  set_name(check->name, name);
  check->slack = slack > check->slack ? slack : check->slack;
  add_round(results, &check->sums, sums, count);
  add_round(results, &check->totals, totals, count);
}

static void finish_check(bench_check *check) {
  bench_interval sum = bench_series_median(&check->sums);
  bench_interval total = bench_series_median(&check->totals);
  check->sum = sum.median;
  check->total = total.median;
  double apart = fabs(check->sum - check->total);
  check->holds = apart <= check->total * BENCH_SUM_LIMIT || apart <= check->slack;
  check->noisy = !check->holds && sum.low <= total.high && total.low <= sum.high;
}

/* ------------------------------------------------------------------------------------------ */
/* Curves                                                                                       */

size_t bench_curve_add(bench_results *results, const char *name, const char *parameter) {
  for (size_t i = 0; i < results->curve_count; ++i) {
    if (strcmp(results->curves[i].name, name) == 0)
      return i;
  }
  bench_curve *curve = ADD(results, curve);
  if (!curve)
    return results->curve_count;
  set_name(curve->name, name);
  snprintf(curve->parameter, sizeof curve->parameter, "%s", parameter);
  return results->curve_count - 1;
}

void bench_curve_point(bench_results *results, size_t curve, double at, size_t figure) {
  bench_curve *along = curve < results->curve_count ? &results->curves[curve] : NULL;
  bool known = !along || along->count == BENCH_CURVE_POINTS;
  for (size_t i = 0; !known && i < along->count; ++i)
    known = along->figures[i] == figure;
  if (known)
    return;
  along->at[along->count] = at;
  along->figures[along->count++] = figure;
}

static void finish_curve(const bench_results *results, bench_curve *curve) {
  double medians[BENCH_CURVE_POINTS];
  for (size_t i = 0; i < curve->count; ++i)
    medians[i] = results->figures[curve->figures[i]].median;
  if (curve->count > 1)
    curve->growth = bench_fit_growth(curve->at, medians, curve->count);
}

void bench_results_finish(bench_results *results) {
  for (size_t i = 0; i < results->figure_count; ++i)
    finish_figure(results, &results->figures[i]);
  for (size_t i = 0; i < results->comparison_count; ++i) {
    bench_comparison *each = &results->comparisons[i];
    each->blocks = each->ratios.count;
    each->rounds = each->ratios.rounds;
    each->ratio = bench_series_median(&each->ratios);
  }
  for (size_t i = 0; i < results->check_count; ++i)
    finish_check(&results->checks[i]);
  for (size_t i = 0; i < results->curve_count; ++i)
    finish_curve(results, &results->curves[i]);
}
