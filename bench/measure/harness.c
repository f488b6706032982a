/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "harness.h"

#include "progress.h"

#include <string.h>
#include <time.h>

double bench_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_repeats(const bench_case *item, size_t repeats) {
  double start = bench_now_ns();
  for (size_t i = 0; i < repeats; ++i)
    item->run(item->context);
  return bench_now_ns() - start;
}

/* How often a case must run to last `target_ns`. Its first run, which may make what the others
 * find, tells nothing. */
static size_t calibrate_repeats(const bench_case *item, double target_ns) {
  size_t repeats = 1;
  item->run(item->context);
  for (;;) {
    double elapsed = time_repeats(item, repeats);
    if (elapsed >= target_ns / 4 || repeats > ((size_t)1 << 40))
      return (size_t)((double)repeats * target_ns / (elapsed > 1 ? elapsed : 1)) + 1;
    repeats *= 2;
  }
}

void bench_measure(const bench_case *cases, size_t count, size_t blocks, double milliseconds,
                   bench_run *out_run) {
  bench_measure_with_setup(cases, count, blocks, milliseconds, NULL, out_run);
}

void bench_measure_with_setup(const bench_case *cases, size_t count, size_t blocks,
                              double milliseconds, void (*settle)(const bench_case *next),
                              bench_run *out_run) {
  size_t repeats[KDL_BENCH_LIMIT_CASES];
  out_run->cases = count < KDL_BENCH_LIMIT_CASES ? count : KDL_BENCH_LIMIT_CASES;
  out_run->blocks = blocks < KDL_BENCH_LIMIT_BLOCKS ? blocks : KDL_BENCH_LIMIT_BLOCKS;
  for (size_t i = 0; i < out_run->cases; ++i)
    repeats[i] = calibrate_repeats(&cases[i], milliseconds * 1e6);
  for (size_t block = 0; block < out_run->blocks; ++block) {
    if (block && bench_was_interrupted()) {
      out_run->blocks = block;
      break;
    }
    for (size_t k = 0; k < out_run->cases; ++k) {
      size_t i = (k + block) % out_run->cases; /* no case always follows the same other one */
      if (settle)
        settle(&cases[i]);
      out_run->ns[i][block] = time_repeats(&cases[i], repeats[i]) / (double)repeats[i];
    }
  }
}

bench_summary bench_summarise(const bench_run *run, size_t index) {
  double sorted[KDL_BENCH_LIMIT_BLOCKS];
  memcpy(sorted, run->ns[index], run->blocks * sizeof *sorted);
  bench_sort(sorted, run->blocks);
  return (bench_summary){bench_quantile(sorted, run->blocks, 0.5),
                         bench_quantile(sorted, run->blocks, 0.05),
                         bench_quantile(sorted, run->blocks, 0.95)};
}

bench_interval bench_ratio(const bench_run *run, size_t index, size_t peer) {
  double values[KDL_BENCH_LIMIT_BLOCKS];
  for (size_t i = 0; i < run->blocks; ++i)
    values[i] = run->ns[index][i] / run->ns[peer][i];
  return bench_median_interval(values, run->blocks);
}

bench_interval bench_difference(const bench_run *run, size_t index, size_t peer) {
  double values[KDL_BENCH_LIMIT_BLOCKS];
  for (size_t i = 0; i < run->blocks; ++i)
    values[i] = run->ns[index][i] - run->ns[peer][i];
  return bench_median_interval(values, run->blocks);
}
