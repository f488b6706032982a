/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tables of what was measured next to peers: a row for each thing, our time, and how many times it
 * each peer takes. */
#include "bench.h"

#include "tools/common/text.h"

#include <math.h>
#include <string.h>

enum { most_columns = 24 };

/* Of "matmul/f32/1 thread/packed/64x64x64/kdl": what tables share, what rows share, who. */
static size_t parts_length(const char *name, size_t parts) {
  size_t length = 0;
  for (; parts; --parts)
    length += strcspn(name + length, "/") + (parts > 1);
  return length;
}

static const char *who_of(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}

const bench_comparison *cli_bench_ratio_to(const bench_results *results, const bench_figure *ours,
                                           const char *who) {
  for (size_t i = 0; i < results->comparison_count; ++i) {
    const bench_comparison *found = &results->comparisons[i];
    if (strcmp(found->to, ours->name) == 0 && strcmp(who_of(found->of), who) == 0)
      return found;
  }
  return NULL;
}

/* Those that a table has. */
typedef struct {
  const char *names[most_columns];
  size_t count;
} peer_list;

static void add_ratio_row(cli_table *table, const bench_results *results,
                          const cli_bench_ratios *form, const peer_list *peers,
                          const bench_figure *ours) {
  const char *row = ours->name + parts_length(ours->name, form->table_parts) + 1;
  cli_table_add(table, (kdl_string){row, strcspn(row, "/")});
  cli_bench_add_time_cell(table, ours->median);
  if (form->add_own)
    form->add_own(table, results, ours, row);
  for (size_t i = 0; i < peers->count; ++i) {
    const bench_comparison *found = cli_bench_ratio_to(results, ours, peers->names[i]);
    const double values[] = {found ? found->ratio.median : 0, found ? found->ratio.low : 0,
                             found ? found->ratio.high : 0};
    for (size_t k = 0; k < sizeof values / sizeof *values; ++k) {
      if (found)
        cli_bench_add_cell(table, "%.3f", values[k]);
      else
        cli_table_add(table, (kdl_string){"", 0});
    }
  }
}

static bool is_figure_of(const char *table, const char *name, const char *who) {
  size_t length = strlen(table);
  return strncmp(name, table, length) == 0 && name[length] == '/' && strcmp(who_of(name), who) == 0;
}

/* Of the ratios to one peer in a table. */
static void print_summary(const bench_results *results, const char *table, const char *who) {
  double logarithms = 0, least = INFINITY;
  const char *where = "";
  size_t count = 0;
  for (size_t i = 0; i < results->comparison_count; ++i) {
    const bench_comparison *found = &results->comparisons[i];
    if (!is_figure_of(table, found->of, who))
      continue;
    logarithms += log(found->ratio.median);
    ++count;
    if (found->ratio.median < least) {
      least = found->ratio.median;
      where = found->of + strlen(table) + 1;
    }
  }
  if (count)
    cli_text_printf(stdout, "%s: geometric mean %.3f, least %.3f at %.*s\n", who,
                    exp(logarithms / (double)count), least, (int)strcspn(where, "/"), where);
}

static peer_list peers_of(const bench_results *results, const cli_bench_ratios *form,
                          const char *table) {
  peer_list list = {.count = 0};
  for (size_t i = 0; i < form->peer_count; ++i) {
    size_t k = 0;
    while (k < results->comparison_count &&
           !is_figure_of(table, results->comparisons[k].of, form->peers[i]))
      ++k;
    if (k < results->comparison_count)
      list.names[list.count++] = form->peers[i];
  }
  return list;
}

static kdl_status print_ratio_table(const bench_results *results, const cli_bench_ratios *form,
                                    const char *name) {
  cli_column columns[most_columns] = {{.title = form->row}, {.title = "KDL", .right = true}};
  size_t count = 2;
  peer_list peers = peers_of(results, form, name);
  for (size_t i = 0; i < form->own_count; ++i)
    columns[count++] = form->own[i];
  for (size_t i = 0; i < peers.count; ++i) {
    columns[count++] = (cli_column){.title = peers.names[i], .right = true};
    columns[count++] = (cli_column){.title = "LOW", .right = true};
    columns[count++] = (cli_column){.title = "HIGH", .right = true};
  }
  cli_table *table = cli_table_create(columns, count);
  for (size_t i = 0; i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    if (is_figure_of(name, figure->name, "kdl"))
      add_ratio_row(table, results, form, &peers, figure);
  }
  cli_text_printf(stdout, "\n%s\n", strchr(name, '/') + 1);
  kdl_status status = cli_table_finish(table);
  for (size_t i = 0; i < peers.count; ++i)
    print_summary(results, name, peers.names[i]);
  return status;
}

kdl_status cli_bench_print_ratios(const bench_results *results, const cli_bench_ratios *form) {
  kdl_status status = KDL_OK;
  char last[BENCH_NAME] = "";
  printf("\na peer's column: its time over ours, with the 95%% interval; above 1, kdl is faster\n");
  for (size_t i = 0; i < results->figure_count && status == KDL_OK; ++i) {
    const char *name = results->figures[i].name;
    size_t length = parts_length(name, form->table_parts);
    if (strncmp(last, name, length) == 0 && !last[length])
      continue;
    snprintf(last, sizeof last, "%.*s", (int)length, name);
    status = print_ratio_table(results, form, last);
  }
  return status;
}
