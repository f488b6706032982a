/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cases.h"

#include "measure/progress.h"

#include <stdio.h>
#include <string.h>

static void case_figure_name(const cases_run *what, size_t index, char name[BENCH_NAME]) {
  snprintf(name, BENCH_NAME, "%s/%s", what->prefix, what->cases[index].name);
}

void cases_measure(const cases_run *what, bench_results *results, bench_run *out_run) {
  bench_progress(what->prefix, 0, 1);
  bench_measure(what->cases, what->count, what->blocks, what->milliseconds, out_run);
  cases_add_figures(what, out_run, results);
}

void cases_add_figures(const cases_run *what, const bench_run *run, bench_results *results) {
  for (size_t i = 0; i < run->cases; ++i) {
    double samples[KDL_BENCH_LIMIT_BLOCKS];
    char name[BENCH_NAME];
    for (size_t k = 0; k < run->blocks; ++k)
      samples[k] = run->ns[i][k] / what->operations;
    case_figure_name(what, i, name);
    bench_figure_add(results, name, samples, run->blocks, 0);
  }
}

void cases_compare(const cases_run *what, const bench_run *run, size_t of, size_t to,
                   bench_results *results) {
  char of_name[BENCH_NAME], to_name[BENCH_NAME];
  case_figure_name(what, of, of_name);
  case_figure_name(what, to, to_name);
  double ratios[KDL_BENCH_LIMIT_BLOCKS];
  for (size_t i = 0; i < run->blocks; ++i)
    ratios[i] = run->ns[of][i] / run->ns[to][i];
  bench_comparison_add(results, of_name, to_name, ratios, run->blocks);
}

size_t cases_figure(const cases_run *what, const bench_results *results, size_t index) {
  char name[BENCH_NAME];
  case_figure_name(what, index, name);
  const bench_figure *figure = bench_figure_find(results, name);
  return figure ? (size_t)(figure - results->figures) : 0;
}
