/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl bench` found, for people. */
#include "bench.h"

#include "support/base/error.h"
#include "tools/common/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void cli_bench_format_time(double ns, char *out, size_t size) {
  if (ns < 1e3 && ns > -1e3)
    snprintf(out, size, "%.1f ns", ns);
  else if (ns < 1e6 && ns > -1e6)
    snprintf(out, size, "%.2f us", ns / 1e3);
  else if (ns < 1e9 && ns > -1e9)
    snprintf(out, size, "%.2f ms", ns / 1e6);
  else
    snprintf(out, size, "%.2f s", ns / 1e9);
}

void cli_bench_add_cell(cli_table *table, const char *format, ...) {
  char text[BENCH_NAME + 32];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  cli_table_add(table, (kdl_string){text, strlen(text)});
}

void cli_bench_add_time_cell(cli_table *table, double ns) {
  char words[32];
  cli_bench_format_time(ns, words, sizeof words);
  cli_bench_add_cell(table, "%s", words);
}

/* A figure's name without its suite. */
static const char *short_name(const char *name) {
  const char *slash = strchr(name, '/');
  return slash ? slash + 1 : name;
}

/* ------------------------------------------------------------------------------------------ */
/* The machine                                                                                  */

static void print_machine(const bench_results *results) {
  const bench_machine *machine = &results->machine;
  char timer[32], step[32];
  cli_bench_format_time(machine->timer_ns, timer, sizeof timer);
  cli_bench_format_time(machine->step_ns, step, sizeof step);
  cli_text_printf(stdout, "kdl bench %s, libkdl %s, %s UTC\n", results->suite, kdl_version(),
                  machine->date);
  for (size_t i = 0; i < results->note_count; ++i) {
    if (strcmp(results->notes[i].key, "spec") != 0) /* for programs */
      cli_text_printf(stdout, "%-9s %s\n", results->notes[i].key, results->notes[i].text);
  }
  cli_text_printf(stdout, "%-9s %s%s, %u CPU%s, %s\n", "machine",
                  *machine->cpu ? machine->cpu : "unknown CPU",
                  machine->is_virtual ? " (virtual)" : "", machine->cpus,
                  machine->cpus == 1 ? "" : "s", machine->kernel);
  printf("%-9s ", "quiet");
  if (machine->pinned >= 0)
    printf("warm parts pinned to CPU %d; ", machine->pinned);
  if (*machine->governor)
    cli_text_printf(stdout, "governor %s; ", machine->governor);
  if (machine->mhz > 0)
    printf("%.0f MHz; ", machine->mhz);
  printf("load %.2f; equal work varies by %.1f%% (p95 over median)", machine->load,
         machine->noise * 100);
  if (machine->others >= 0)
    printf("; others had %.1f%% of the CPUs meanwhile", machine->others * 100);
  putchar('\n');
  printf("%-9s %s a reading, subtracted; it moves by %s at least\n", "clock", timer, step);
}

/* ------------------------------------------------------------------------------------------ */
/* Layers: figures called SUITE/MODE/PEER/ROW                                                   */

enum { most_rows = 24, part_size = 48 };

typedef struct {
  char texts[most_rows][part_size];
  size_t count;
} words;

static size_t index_of(const words *list, const char *text) {
  size_t at = 0;
  while (at < list->count && strcmp(list->texts[at], text) != 0)
    ++at;
  return at;
}

static void add_unique(words *list, const char *text) {
  if (index_of(list, text) == list->count && list->count < most_rows)
    snprintf(list->texts[list->count++], part_size, "%s", text);
}

/* The n-th part of a name; "" where it has fewer. */
static void name_component(const char *name, size_t n, char part[part_size]) {
  for (; n && name; --n) {
    name = strchr(name, '/');
    name = name ? name + 1 : NULL;
  }
  snprintf(part, part_size, "%.*s", name ? (int)strcspn(name, "/") : 0, name ? name : "");
}

static const bench_figure *find_mode_figure(const bench_results *results, const char *mode,
                                            const char *who, const char *row) {
  char name[BENCH_NAME];
  snprintf(name, sizeof name, "%s/%s/%s/%s", results->suite, mode, who, row);
  return bench_figure_find(results, name);
}

/* Rows in the order of a dispatch, whichever peer has them. */
static void list_rows(const bench_results *results, const char *mode, const words *peers,
                      words *rows) {
  const char *order[KDL_TRACE_PHASE_COUNT + 3];
  size_t count = 0;
  order[count++] = SUITE_PROCESS_START;
  for (int i = 0; i < KDL_TRACE_PHASE_COUNT; ++i)
    order[count++] = kdl_trace_phase_name((kdl_trace_phase)i);
  order[count++] = SUITE_PROCESS_END;
  order[count++] = "total";
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < peers->count; ++k) {
      if (find_mode_figure(results, mode, peers->texts[k], order[i]))
        add_unique(rows, order[i]);
    }
  }
}

static const char *title_of(const char *mode) {
  static const char *const titles[][2] = {
      {"cold", "cold: one process, from its start to its first result and its end"},
      {"load", "load: from bytes to a kernel, in a process that is warm"},
      {"hot", "hot: a launch of a loaded kernel and a wait for it"},
      {"queued", "queued: 100 launches, then a wait; per launch"},
  };
  for (size_t i = 0; i < sizeof titles / sizeof *titles; ++i) {
    if (strcmp(titles[i][0], mode) == 0)
      return titles[i][1];
  }
  return mode;
}

/* What else is known of a total. */
static const struct {
  const char *name;
  size_t offset;
} spreads[] = {{"  95% low", offsetof(bench_figure, low)},
               {"  95% high", offsetof(bench_figure, high)},
               {"  p5", offsetof(bench_figure, p5)},
               {"  p95", offsetof(bench_figure, p95)},
               {"  p99", offsetof(bench_figure, p99)}};

static void add_layer_row(cli_table *table, const bench_results *results, const char *mode,
                          const words *peers, const char *row, const char *title, size_t offset) {
  cli_bench_add_cell(table, "%s", title);
  for (size_t i = 0; i < peers->count; ++i) {
    const bench_figure *figure = find_mode_figure(results, mode, peers->texts[i], row);
    if (figure)
      cli_bench_add_time_cell(table, *(const double *)((const char *)figure + offset));
    else
      cli_bench_add_cell(table, "%s", "");
  }
}

static kdl_status print_mode(const bench_results *results, const char *mode, const words *peers) {
  words rows = {.count = 0};
  cli_column columns[most_rows + 1] = {{.title = "LAYER"}};
  for (size_t i = 0; i < peers->count; ++i)
    columns[i + 1] = (cli_column){.title = peers->texts[i], .right = true};
  list_rows(results, mode, peers, &rows);
  printf("\n%s\n", title_of(mode));
  cli_table *table = cli_table_create(columns, peers->count + 1);
  for (size_t i = 0; i < rows.count; ++i)
    add_layer_row(table, results, mode, peers, rows.texts[i], rows.texts[i],
                  offsetof(bench_figure, median));
  for (size_t i = 0; i < sizeof spreads / sizeof *spreads; ++i)
    add_layer_row(table, results, mode, peers, "total", spreads[i].name, spreads[i].offset);
  return cli_table_finish(table);
}

static kdl_status print_layers(const bench_results *results) {
  words modes = {.count = 0}, peers = {.count = 0};
  for (size_t i = 0; i < results->figure_count; ++i) {
    char part[part_size];
    name_component(results->figures[i].name, 1, part);
    add_unique(&modes, part);
    name_component(results->figures[i].name, 2, part);
    add_unique(&peers, part);
  }
  kdl_status status = KDL_OK;
  for (size_t i = 0; i < modes.count && status == KDL_OK; ++i)
    status = print_mode(results, modes.texts[i], &peers);
  return status;
}

/* ------------------------------------------------------------------------------------------ */
/* Anything else: one figure a line                                                             */

static kdl_status print_figures(const bench_results *results) {
  static const cli_column columns[] = {
      {.title = "FIGURE", .shrinks = 1}, {.title = "MEDIAN", .right = true},
      {.title = "LOW", .right = true},   {.title = "HIGH", .right = true},
      {.title = "P5", .right = true},    {.title = "P95", .right = true},
      {.title = "P99", .right = true}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    const double values[] = {figure->median, figure->low, figure->high,
                             figure->p5,     figure->p95, figure->p99};
    cli_bench_add_cell(table, "%s", short_name(figure->name));
    for (size_t k = 0; k < sizeof values / sizeof *values; ++k)
      cli_bench_add_time_cell(table, values[k]);
  }
  putchar('\n');
  return cli_table_finish(table);
}

static kdl_status print_curves(const bench_results *results) {
  static const cli_column columns[] = {{.title = "CURVE", .shrinks = 1},
                                       {.title = "FROM", .right = true},
                                       {.title = "TO", .right = true},
                                       {.title = "PARAMETER"},
                                       {.title = "GROWS AS"}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < results->curve_count; ++i) {
    const bench_curve *curve = &results->curves[i];
    if (!curve->count)
      continue;
    cli_bench_add_cell(table, "%s", short_name(curve->name));
    cli_bench_add_cell(table, "%.0f", curve->at[0]);
    cli_bench_add_cell(table, "%.0f", curve->at[curve->count - 1]);
    cli_bench_add_cell(table, "%s", curve->parameter);
    cli_bench_add_cell(table, "n^%.2f", curve->growth.exponent);
  }
  putchar('\n');
  return cli_table_finish(table);
}

/* ------------------------------------------------------------------------------------------ */
/* What it means                                                                                */

static kdl_status print_comparisons(const bench_results *results) {
  static const cli_column columns[] = {
      {.title = "RATIO OF", .shrinks = 2}, {.title = "TO", .shrinks = 1},
      {.title = "MEDIAN", .right = true},  {.title = "LOW", .right = true},
      {.title = "HIGH", .right = true},    {.title = "BLOCKS", .right = true},
      {.title = "ROUNDS", .right = true}};
  cli_table *table = cli_table_create(columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < results->comparison_count; ++i) {
    const bench_comparison *comparison = &results->comparisons[i];
    cli_bench_add_cell(table, "%s", short_name(comparison->of));
    cli_bench_add_cell(table, "%s", short_name(comparison->to));
    cli_bench_add_cell(table, "%.4f", comparison->ratio.median);
    cli_bench_add_cell(table, "%.4f", comparison->ratio.low);
    cli_bench_add_cell(table, "%.4f", comparison->ratio.high);
    cli_bench_add_cell(table, "%zu", comparison->blocks);
    cli_bench_add_cell(table, "%zu", comparison->rounds);
  }
  printf("\nblock by block, with the 95%% interval of the ratio\n");
  return cli_table_finish(table);
}

static void print_checks(const bench_results *results) {
  if (results->check_count)
    putchar('\n');
  for (size_t i = 0; i < results->check_count; ++i) {
    const bench_check *check = &results->checks[i];
    char sum[32], total[32];
    cli_bench_format_time(check->sum, sum, sizeof sum);
    cli_bench_format_time(check->total, total, sizeof total);
    double percent = check->total > 0 ? (check->sum / check->total - 1) * 100 : 0;
    const char *verdict = check->holds ? "ok" : check->noisy ? "noisy" : "OFF";
    const char *advice = check->holds   ? ""
                         : check->noisy ? "; too noisy to tell: measure more, or in quiet"
                                        : "; the layers of this part are not to be trusted";
    cli_text_printf(stdout, "%-5s %s: the layers add up to %s, all of it took %s (%+.1f%%)%s\n",
                    verdict, short_name(check->name), sum, total, percent, advice);
  }
}

kdl_status cli_bench_print(const bench_results *results) {
  kdl_status status = KDL_OK;
  print_machine(results);
  for (size_t i = 0; i < results->skip_count; ++i)
    cli_text_printf(stdout, "%-9s %s: %s\n", "left out", results->skips[i].what,
                    results->skips[i].why);
  if (results->interrupted)
    printf("%-9s this is what was measured until then\n", "interrupted");
  if (strcmp(results->suite, "matmul") == 0)
    return cli_bench_print_matmul(results);
  if (strcmp(results->suite, "kernels") == 0)
    return cli_bench_print_kernels(results);
  if (strcmp(results->suite, "scale-threads") == 0)
    return cli_bench_print_scale_threads(results);
  if (results->figure_count)
    status = results->check_count || strcmp(results->suite, "launch") == 0 ? print_layers(results)
                                                                           : print_figures(results);
  if (status == KDL_OK && results->curve_count)
    status = print_curves(results);
  if (status == KDL_OK && results->comparison_count)
    status = print_comparisons(results);
  print_checks(results);
  return status;
}
