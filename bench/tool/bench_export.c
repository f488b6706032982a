/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results in the forms of others: folded stacks, trace events, LNT. */
#include "bench.h"

#include "tools/common/json.h"

#include <string.h>

/* What is a part of a measured whole, or was measured by itself; the wholes are left out, since a
 * stack's parts add up to it. */
static bool is_measured_total(const bench_results *results, const bench_figure *figure) {
  const char *last = strrchr(figure->name, '/');
  if (!last || strcmp(last, "/total") != 0)
    return false;
  size_t length = (size_t)(last - figure->name);
  for (size_t i = 0; i < results->check_count; ++i) {
    if (strlen(results->checks[i].name) == length &&
        memcmp(results->checks[i].name, figure->name, length) == 0)
      return true;
  }
  return false;
}

/* "layers;cold;kdl;load 12345": frames, then ns. */
void cli_bench_write_folded(const bench_results *results, const char *command, FILE *file) {
  (void)command;
  for (size_t i = 0; i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    if (is_measured_total(results, figure) || figure->median < 0.5)
      continue;
    for (const char *c = figure->name; *c; ++c)
      putc(*c == '/' ? ';' : *c, file);
    fprintf(file, " %.0f\n", figure->median);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Trace events: a row for each mode and peer, its layers one behind the other                   */

static void begin_event(cli_json *json, const char *phase, const char *name, unsigned row) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "ph", phase);
  cli_json_put_text(json, "name", name);
  cli_json_put_number(json, "pid", 1);
  cli_json_put_number(json, "tid", row);
}

static void name_row(cli_json *json, unsigned row, const char *name, size_t length) {
  begin_event(json, "M", "thread_name", row);
  cli_json_put_object(json, "args");
  cli_json_put_bytes(json, "name", (kdl_string){name, length});
  cli_json_end_object(json);
  cli_json_end_object(json);
}

static void add_span(cli_json *json, unsigned row, const bench_figure *figure, double start) {
  begin_event(json, "X", strrchr(figure->name, '/') + 1, row);
  cli_json_put_real(json, "ts", start / 1e3, 3);
  cli_json_put_real(json, "dur", figure->median > 0 ? figure->median / 1e3 : 0, 3);
  cli_json_put_object(json, "args");
  const struct {
    const char *key;
    double value;
  } values[] = {{"median_ns", figure->median}, {"low_ns", figure->low}, {"high_ns", figure->high},
                {"p5_ns", figure->p5},         {"p95_ns", figure->p95}, {"p99_ns", figure->p99}};
  for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
    cli_json_put_real(json, values[i].key, values[i].value, 3);
  }
  cli_json_end_object(json);
  cli_json_end_object(json);
}

/* The part of a name before its last '/'. */
static size_t stem(const char *name) {
  const char *last = strrchr(name, '/');
  return last ? (size_t)(last - name) : 0;
}

/* A process starts before its first layer; it stands behind them in the figures. */
static bool is_start(const bench_figure *figure) {
  return strcmp(strrchr(figure->name, '/') + 1, SUITE_PROCESS_START) == 0;
}

static double add_trace_row(cli_json *json, const bench_results *results, size_t first,
                            unsigned row, bool starts, double at) {
  size_t length = stem(results->figures[first].name);
  for (size_t i = first; i < results->figure_count; ++i) {
    const bench_figure *figure = &results->figures[i];
    if (stem(figure->name) != length ||
        memcmp(figure->name, results->figures[first].name, length) != 0)
      break;
    if (is_measured_total(results, figure) || is_start(figure) != starts)
      continue;
    add_span(json, row, figure, at);
    at += figure->median > 0 ? figure->median : 0;
  }
  return at;
}

void cli_bench_write_trace(const bench_results *results, const char *command, FILE *file) {
  cli_json json = {.file = file};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "displayTimeUnit", "ns");
  cli_json_put_object(&json, "otherData");
  cli_json_put_text(&json, "command", command);
  cli_json_end_object(&json);
  cli_json_put_array(&json, "traceEvents");
  unsigned row = 0;
  for (size_t i = 0; i < results->figure_count; ++i) {
    const char *name = results->figures[i].name;
    size_t length = stem(name);
    if (i && stem(results->figures[i - 1].name) == length &&
        memcmp(results->figures[i - 1].name, name, length) == 0)
      continue;
    name_row(&json, ++row, name, length);
    add_trace_row(&json, results, i, row, false, add_trace_row(&json, results, i, row, true, 0));
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
}

/* ------------------------------------------------------------------------------------------ */
/* LNT: https://llvm.org/docs/lnt/importing_data.html, format 2, times in seconds                */

void cli_bench_write_lnt(const bench_results *results, const char *command, FILE *file) {
  const bench_machine *machine = &results->machine;
  const struct {
    const char *key, *text;
  } about[] = {{"name", machine->host}, {"cpu", machine->cpu}, {"os", machine->kernel}};
  const struct {
    const char *key, *text;
  } run[] = {{"start_time", machine->date},
             {"end_time", machine->date},
             {"llvm_project_revision", kdl_version()},
             {"command", command}};
  cli_json json = {.file = file};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "format_version", "2");
  cli_json_put_object(&json, "machine");
  for (size_t i = 0; i < sizeof about / sizeof *about; ++i) {
    cli_json_put_text(&json, about[i].key, about[i].text);
  }
  cli_json_end_object(&json);
  cli_json_put_object(&json, "run");
  for (size_t i = 0; i < sizeof run / sizeof *run; ++i) {
    cli_json_put_text(&json, run[i].key, run[i].text);
  }
  cli_json_end_object(&json);
  cli_json_put_array(&json, "tests");
  for (size_t i = 0; i < results->figure_count; ++i) {
    char name[BENCH_NAME + 8];
    snprintf(name, sizeof name, "kdl/%s", results->figures[i].name);
    cli_json_begin_object(&json);
    cli_json_put_text(&json, "name", name);
    cli_json_put_real(&json, "execution_time", results->figures[i].median / 1e9, 12);
    cli_json_end_object(&json);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
}
