/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Cases in interleaved blocks, and what they make of results. */
#ifndef KDL_BENCH_SUITES_CASES_H
#define KDL_BENCH_SUITES_CASES_H

#include "measure/harness.h"
#include "measure/results.h"

typedef struct cases_run {
  const char *prefix; /* "open/64 images of 4096 bytes"; figures are PREFIX/CASE */
  const bench_case *cases;
  size_t count;
  size_t blocks;
  double milliseconds; /* of one case in one block */
  double operations;   /* in one run of a case: figures are per operation */
} cases_run;

/* Measures them and adds a figure for each. *out_run may be used for comparisons. */
void cases_measure(const cases_run *what, bench_results *results, bench_run *out_run);

/* Adds a figure for each case of a run that was measured. */
void cases_add_figures(const cases_run *what, const bench_run *run, bench_results *results);

/* How many times as long case `of` took as case `to`. */
void cases_compare(const cases_run *what, const bench_run *run, size_t of, size_t to,
                   bench_results *results);

/* The index of the figure of a case. */
size_t cases_figure(const cases_run *what, const bench_results *results, size_t index);

#endif
