/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl bench compare: two runs, figure by figure. A change counts where the intervals of the medians
 * lie apart, and where it is more than what two runs of the same program differ by. */
#include "bench.h"

#include "support/base/error.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <string.h>

/* Runs of one program on one quiet machine agree to about a hundredth, and what lasts a few ns to a
 * nanosecond. */
static const double least_ratio = 0.01, least_ns = 1;

typedef enum { SAME, BETTER, WORSE } verdict;

static verdict classify_change(const bench_figure *before, const bench_figure *after) {
  double apart = after->median - before->median;
  double least = least_ratio * before->median > least_ns ? least_ratio * before->median : least_ns;
  if (after->low > before->high && apart > least)
    return WORSE;
  if (after->high < before->low && -apart > least)
    return BETTER;
  return SAME;
}

static void add_compare_row(cli_table *table, const bench_figure *before, const bench_figure *after,
                            verdict found) {
  static const char *const names[] = {"within noise", "better", "worse"};
  cli_bench_add_cell(table, "%s", names[found]);
  cli_bench_add_cell(table, "%s", after->name);
  cli_bench_add_time_cell(table, before->median);
  cli_bench_add_time_cell(table, after->median);
  cli_bench_add_cell(table, "%+.1f%%",
                     before->median > 0 ? (after->median / before->median - 1) * 100 : 0);
}

static kdl_status print_comparison(const bench_results *before, const bench_results *after,
                                   size_t counts[3], size_t *out_alone) {
  static const cli_column columns[] = {{.title = "VERDICT"},
                                       {.title = "FIGURE", .shrinks = 1},
                                       {.title = "OLD", .right = true},
                                       {.title = "NEW", .right = true},
                                       {.title = "CHANGE", .right = true}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  size_t shared = 0;
  for (size_t i = 0; i < after->figure_count; ++i) {
    const bench_figure *now = &after->figures[i];
    const bench_figure *then = bench_figure_find(before, now->name);
    if (!then)
      continue;
    verdict found = classify_change(then, now);
    ++counts[found];
    ++shared;
    add_compare_row(table, then, now, found);
  }
  *out_alone = before->figure_count + after->figure_count - 2 * shared;
  return cli_table_finish(table);
}

static kdl_status compare_files(const char *old_path, const char *new_path, size_t counts[3],
                                size_t *out_alone) {
  bench_results before, after;
  KDL_TRY(cli_bench_read_json(old_path, &before));
  kdl_status status = cli_bench_read_json(new_path, &after);
  if (status == KDL_OK)
    status = print_comparison(&before, &after, counts, out_alone);
  if (status == KDL_OK && counts[SAME] + counts[BETTER] + counts[WORSE] == 0)
    status = kdl_fail(KDL_NO_MATCH, "%s and %s have no figure in common", old_path, new_path);
  bench_results_free(&before);
  bench_results_free(&after);
  return status;
}

int cli_bench_compare(const cli_args *args, const char *old_path, const char *new_path) {
  size_t counts[3] = {0}, alone = 0;
  kdl_status status = compare_files(old_path, new_path, counts, &alone);
  if (status != KDL_OK)
    return cli_report_status(status);
  printf("\n%zu better, %zu worse, %zu within noise", counts[BETTER], counts[WORSE], counts[SAME]);
  printf(alone ? "; %zu in one of the files only\n" : "\n", alone);
  return cli_args_has(args, "strict") && counts[WORSE] ? 1 : CLI_EXIT_SUCCESS;
}
