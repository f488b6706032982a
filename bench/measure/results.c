/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "results.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_results_free(bench_results *results) {
  free(results->notes);
  free(results->figures);
  free(results->comparisons);
  free(results->checks);
  free(results->curves);
  free(results->skips);
  *results = (bench_results){.note_count = 0};
}

/* Room for one more at the end of an array; NULL when out of memory, which is remembered. */
static void *grow(bench_results *results, void *array, size_t *count, size_t size) {
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
  grow(results, &(results)->member##s, &(results)->member##_count, sizeof *(results)->member##s)

void bench_note_add(bench_results *results, const char *key, const char *format, ...) {
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
  bench_skip *skip = ADD(results, skip);
  if (!skip)
    return;
  snprintf(skip->what, sizeof skip->what, "%s", what);
  snprintf(skip->why, sizeof skip->why, "%s", why);
}

static void set_name(char name[BENCH_NAME], const char *text) {
  snprintf(name, BENCH_NAME, "%s", text);
}

size_t bench_figure_add(bench_results *results, const char *name, double *samples, size_t count,
                        const double *blocks, size_t block_count) {
  size_t index = results->figure_count;
  bench_figure *figure = ADD(results, figure);
  if (!figure || !count)
    return index;
  set_name(figure->name, name);
  bench_sort(samples, count);
  figure->samples = count;
  figure->median = bench_quantile(samples, count, 0.5);
  figure->p5 = bench_quantile(samples, count, 0.05);
  figure->p95 = bench_quantile(samples, count, 0.95);
  figure->p99 = bench_quantile(samples, count, 0.99);
  size_t independent = blocks ? block_count : count;
  double *copy = malloc(independent * sizeof *copy);
  if (!copy) {
    results->no_memory = true;
    return index;
  }
  memcpy(copy, blocks ? blocks : samples, independent * sizeof *copy);
  bench_interval interval = bench_bootstrap(copy, independent);
  free(copy);
  figure->low = interval.low < figure->median ? interval.low : figure->median;
  figure->high = interval.high > figure->median ? interval.high : figure->median;
  return index;
}

const bench_figure *bench_figure_find(const bench_results *results, const char *name) {
  for (size_t i = 0; i < results->figure_count; ++i) {
    if (strcmp(results->figures[i].name, name) == 0)
      return &results->figures[i];
  }
  return NULL;
}

void bench_comparison_add(bench_results *results, const char *of, const char *to,
                          const double *of_blocks, const double *to_blocks, size_t count) {
  double *ratios = count ? malloc(count * sizeof *ratios) : NULL;
  bench_comparison *added = ratios ? ADD(results, comparison) : NULL;
  if (!added) {
    results->no_memory |= count != 0;
    free(ratios);
    return;
  }
  for (size_t i = 0; i < count; ++i)
    ratios[i] = of_blocks[i] / to_blocks[i];
  set_name(added->of, of);
  set_name(added->to, to);
  added->blocks = count;
  added->ratio = bench_interval_of(ratios, count);
  free(ratios);
}

void bench_check_add(bench_results *results, const char *name, double *sums, double *totals,
                     size_t count, double slack) {
  bench_check *check = count ? ADD(results, check) : NULL;
  if (!check)
    return;
  set_name(check->name, name);
  bench_interval sum = bench_interval_of(sums, count);
  bench_interval total = bench_interval_of(totals, count);
  check->sum = sum.median;
  check->total = total.median;
  check->slack = slack;
  check->noisy = sum.low <= total.high && total.low <= sum.high;
  double apart = fabs(check->sum - check->total);
  check->holds = apart <= check->total * BENCH_SUM_LIMIT || apart <= slack;
  check->noisy = check->noisy && !check->holds;
}

bench_curve *bench_curve_add(bench_results *results, const char *name, const char *parameter) {
  bench_curve *curve = ADD(results, curve);
  if (!curve)
    return NULL;
  set_name(curve->name, name);
  snprintf(curve->parameter, sizeof curve->parameter, "%s", parameter);
  return curve;
}

void bench_curve_point(bench_curve *curve, double at, size_t figure) {
  if (!curve || curve->count == BENCH_CURVE_POINTS)
    return;
  curve->at[curve->count] = at;
  curve->figures[curve->count++] = figure;
}

void bench_curve_finish(const bench_results *results, bench_curve *curve) {
  double medians[BENCH_CURVE_POINTS];
  for (size_t i = 0; curve && i < curve->count; ++i)
    medians[i] = results->figures[curve->figures[i]].median;
  if (curve && curve->count > 1)
    curve->growth = bench_fit(curve->at, medians, curve->count);
}
