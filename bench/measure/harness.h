/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One way to measure: every case runs once per block, the blocks are interleaved, and a case is
 * compared with a peer block by block, so that drift of the machine hits both. Reported are the
 * median with the 5th and 95th percentile, and for comparisons the median of the per-block ratios
 * or differences with its 95% interval by order statistics.
 */
#ifndef KDL_BENCH_MEASURE_HARNESS_H
#define KDL_BENCH_MEASURE_HARNESS_H

#include "statistics.h"

enum { KDL_BENCH_LIMIT_CASES = 16, KDL_BENCH_LIMIT_BLOCKS = 1000 };

typedef struct bench_case {
  const char *name;
  void (*run)(void *context); /* one operation */
  void *context;
} bench_case;

typedef struct bench_summary {
  double median, p5, p95;
} bench_summary;

typedef struct bench_run {
  size_t cases;
  size_t blocks;
  double ns[KDL_BENCH_LIMIT_CASES][KDL_BENCH_LIMIT_BLOCKS]; /* per operation */
} bench_run;

/* Runs every case `blocks` times, each time for about `milliseconds`. */
void bench_measure(const bench_case *cases, size_t count, size_t blocks, double milliseconds,
                   bench_run *out_run);

/* The same, with `settle` called before each block of each case, not timed: for cases that leave
 * something running that would hinder the next. */
void bench_measure_with_setup(const bench_case *cases, size_t count, size_t blocks,
                              double milliseconds, void (*settle)(const bench_case *next),
                              bench_run *out_run);

bench_summary bench_summarise(const bench_run *run, size_t index);

/* ns of case `index` over ns of case `peer`, block by block. */
bench_interval bench_ratio(const bench_run *run, size_t index, size_t peer);

/* ns of case `index` less ns of case `peer`, block by block. */
bench_interval bench_difference(const bench_run *run, size_t index, size_t peer);

double bench_now_ns(void);

/* Keeps the compiler from removing work whose result is not used. */
static inline void bench_do_not_optimize(const void *value) {
  __asm__ volatile("" : : "g"(value) : "memory");
}

#endif
