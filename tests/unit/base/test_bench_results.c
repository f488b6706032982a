/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The statistics of `kdl bench`: medians, whether its intervals contain the true value, verdicts on
 * sums, growth, and results from another process. */
#include "support.h"

#include "measure/exchange.h"

#include <math.h>
#include <unistd.h>

/* cmocka compares floats. */
#define assert_near(found, expected, apart) assert_true(fabs((found) - (expected)) <= (apart))

/* ------------------------------------------------------------------------------------------ */
/* Times of a machine that is known                                                             */

enum { rounds = 20, in_round = 15, runs = 300 };
static const double truth = 1000;

static uint64_t seed = 1;

/* Evenly between -1 and 1. */
static double noise(void) {
  seed = seed * 6364136223846793005 + 1442695040888963407;
  return (double)(seed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

typedef struct {
  double each;  /* how much a sample varies */
  double round; /* and what a round has in common */
} variation;

static void measure(const variation *how, bench_results *results) {
  for (size_t i = 0; i < rounds; ++i) {
    double values[in_round], shift = how->round * noise();
    for (size_t k = 0; k < in_round; ++k)
      values[k] = truth + shift + how->each * noise();
    bench_figure_add(results, "figure", values, in_round, 0);
  }
}

/* How many of `runs` have the truth in their interval. */
static unsigned count_true(const variation *how) {
  unsigned found = 0;
  for (size_t i = 0; i < runs; ++i) {
    bench_results results = {.note_count = 0};
    measure(how, &results);
    bench_results_finish(&results);
    found += results.figures[0].low <= truth && truth <= results.figures[0].high;
    bench_results_free(&results);
  }
  return found;
}

static void intervals_hold_what_is_true(void **state) {
  (void)state;
  static const variation ways[] = {{50, 0}, {50, 50}, {5, 50}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    unsigned found = count_true(&ways[i]);
    if (found < runs * 92 / 100) /* 95, less what chance does to 300 */
      fail_msg("way %zu: %u of %d intervals hold the median, expected 95%%", i, found, runs);
  }
}

/* What it would be without rounds: far too sure of itself. */
static void samples_of_one_round_are_not_independent(void **state) {
  (void)state;
  static const variation how = {5, 50};
  unsigned found = 0;
  for (size_t i = 0; i < runs; ++i) {
    bench_results results = {.note_count = 0};
    measure(&how, &results);
    size_t ends[rounds * in_round];
    for (size_t k = 0; k < rounds * in_round; ++k)
      ends[k] = k + 1;
    bench_interval naive =
        bench_bootstrap(results.figures[0].series.values, ends, rounds * in_round);
    found += naive.low <= truth && truth <= naive.high;
    bench_results_free(&results);
  }
  assert_true(found < runs * 80 / 100);
}

static void drift_widens_the_interval(void **state) {
  (void)state;
  bench_results results = {.note_count = 0};
  for (size_t i = 0; i < rounds; ++i)
    bench_figure_add(&results, "drifts", &(double){100 + (double)i}, 1, 0);
  bench_results_finish(&results);
  const bench_figure *figure = &results.figures[0];
  assert_near(figure->median, 109.5, 1e-9);
  assert_true(figure->low <= 101.5 && figure->high >= 117.5); /* the medians of the outer fifths */
  bench_results_free(&results);
}

/* ------------------------------------------------------------------------------------------ */
/* Single parts                                                                                 */

static void a_figure_is_never_surer_than_the_clock(void **state) {
  (void)state;
  bench_results results = {.note_count = 0};
  for (size_t i = 0; i < 6; ++i)
    bench_figure_add(&results, "equal", (double[]){40, 40, 40}, 3, 10);
  bench_results_finish(&results);
  const bench_figure *figure = bench_figure_find(&results, "equal");
  assert_int_equal(results.figure_count, 1);
  assert_int_equal(figure->samples, 18);
  assert_int_equal(figure->rounds, 6);
  assert_near(figure->median, 40, 0);
  assert_near(figure->low, 30, 0);
  assert_near(figure->high, 50, 0);
  bench_results_free(&results);
}

static void quantiles_lie_between_neighbours(void **state) {
  (void)state;
  static const double sorted[] = {1, 2, 3, 4, 101};
  assert_near(bench_quantile(sorted, 5, 0.5), 3, 0);
  assert_near(bench_quantile(sorted, 5, 0.95), 4 + 0.8 * 97, 1e-9);
  assert_near(bench_quantile(sorted, 1, 0.99), 1, 0);
}

static void growth_is_a_power(void **state) {
  (void)state;
  static const double x[] = {1, 10, 100}, y[] = {3, 300, 30000};
  bench_growth found = bench_fit_growth(x, y, 3);
  assert_near(found.exponent, 2, 1e-9);
  assert_near(found.at_one, 3, 1e-9);
}

static const bench_check *check(bench_results *results, double sum, double total, double spread,
                                double slack) {
  for (int i = -10; i <= 10; ++i)
    bench_check_add(results, "sum", &(double){sum + spread * i}, &(double){total - spread * i}, 1,
                    slack);
  bench_results_finish(results);
  return &results->checks[0];
}

static void sums_hold_are_noisy_or_off(void **state) {
  (void)state;
  static const struct {
    double sum, total, spread, slack;
    bool holds, noisy;
  } rows[] = {
      {1019, 1000, 0.1, 0, true, false}, /* within 2% */
      {1021, 1000, 0.1, 0, false, false},
      {1021, 1000, 0.1, 25, true, false}, /* within the clock's resolution */
      {1030, 1000, 10, 0, false, true},   /* the intervals meet */
      {900, 1000, 0.1, 0, false, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    bench_results results = {.note_count = 0};
    const bench_check *found =
        check(&results, rows[i].sum, rows[i].total, rows[i].spread, rows[i].slack);
    if (found->holds != rows[i].holds || found->noisy != rows[i].noisy)
      fail_msg("row %zu: holds %d, noisy %d", i, found->holds, found->noisy);
    bench_results_free(&results);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* From process to process                                                                      */

static void results_travel(void **state) {
  (void)state;
  bench_results sent = {.machine = {.pinned = 3}}, got = {.machine = {.pinned = -1}};
  size_t figure = bench_figure_add(&sent, "a/b", (double[]){1, 2, 3}, 3, 0.5);
  bench_comparison_add(&sent, "a/b", "a/c", (double[]){0.5, 0.25}, 2);
  bench_check_add(&sent, "a", (double[]){5, 6}, (double[]){7, 8}, 2, 9);
  bench_curve_point(&sent, bench_curve_add(&sent, "curve", "images"), 64, figure);
  bench_note_add(&sent, "LLVM", "%s", "22.1.8");
  bench_skip_add(&sent, "omp", "is not here");
  int ends[2];
  char error[BENCH_ERROR_SIZE];
  for (size_t i = 0; i < 2; ++i) { /* the second time adds a round */
    assert_int_equal(pipe(ends), 0);
    assert_true(bench_results_send(&sent, ends[1]));
    close(ends[1]);
    assert_int_equal(bench_results_receive(&got, ends[0], error), BENCH_RECEIVED);
    assert_int_equal(bench_results_receive(&got, ends[0], error), BENCH_RECEIVED_NOTHING);
    close(ends[0]);
  }
  assert_int_equal(got.machine.pinned, 3);
  assert_int_equal(got.figure_count, 1);
  assert_int_equal(got.figures[0].series.count, 6);
  assert_int_equal(got.figures[0].series.rounds, 2);
  assert_near(got.figures[0].series.values[5], 3, 0);
  assert_near(got.figures[0].step, 0.5, 0);
  assert_string_equal(got.comparisons[0].to, "a/c");
  assert_near(got.comparisons[0].ratios.values[3], 0.25, 0);
  assert_near(got.checks[0].sums.values[1], 6, 0);
  assert_near(got.checks[0].totals.values[3], 8, 0);
  assert_near(got.checks[0].slack, 9, 0);
  assert_string_equal(got.curves[0].parameter, "images");
  assert_int_equal(got.curves[0].count, 1);
  assert_near(got.curves[0].at[0], 64, 0);
  assert_int_equal(got.note_count, 1);
  assert_string_equal(got.notes[0].text, "22.1.8");
  assert_int_equal(got.skip_count, 1);
  assert_string_equal(got.skips[0].why, "is not here");
  bench_results_free(&sent);
  bench_results_free(&got);
}

static void errors_travel(void **state) {
  (void)state;
  bench_results got = {.note_count = 0};
  int ends[2];
  char error[BENCH_ERROR_SIZE];
  assert_int_equal(pipe(ends), 0);
  assert_true(bench_error_send("cuInit: no device", ends[1]));
  close(ends[1]);
  assert_int_equal(bench_results_receive(&got, ends[0], error), BENCH_RECEIVED_ERROR);
  assert_string_equal(error, "cuInit: no device");
  close(ends[0]);
  bench_results_free(&got);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals_hold_what_is_true),
      cmocka_unit_test(samples_of_one_round_are_not_independent),
      cmocka_unit_test(drift_widens_the_interval),
      cmocka_unit_test(a_figure_is_never_surer_than_the_clock),
      cmocka_unit_test(quantiles_lie_between_neighbours),
      cmocka_unit_test(growth_is_a_power),
      cmocka_unit_test(sums_hold_are_noisy_or_off),
      cmocka_unit_test(results_travel),
      cmocka_unit_test(errors_travel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
