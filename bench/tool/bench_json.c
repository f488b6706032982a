/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The schema is in docs/bench.md. */
#include "bench.h"

#include "support/base/error.h"
#include "support/json/reader.h"
#include "tools/common/input.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"

#include <math.h>
#include <string.h>

static const char schema[] = "kdl-bench-1";

/* ------------------------------------------------------------------------------------------ */
/* Writing                                                                                      */

/* Texts that the system may not tell. */
static void put_optional_text(cli_json *json, const char *key, const char *text) {
  cli_json_put_text(json, key, *text ? text : NULL);
}

static void write_machine(cli_json *json, const bench_machine *machine) {
  cli_json_put_object(json, "machine");
  cli_json_put_text(json, "host", machine->host);
  put_optional_text(json, "cpu", machine->cpu);
  cli_json_put_number(json, "cpus", machine->cpus);
  cli_json_put_bool(json, "virtual", machine->is_virtual);
  cli_json_put_text(json, "kernel", machine->kernel);
  cli_json_put_known(json, "pinned", machine->pinned >= 0, (uint64_t)machine->pinned);
  put_optional_text(json, "governor", machine->governor);
  cli_json_put_real(json, "mhz", machine->mhz, 0);
  cli_json_put_real(json, "load", machine->load, 2);
  cli_json_put_real(json, "noise", machine->noise, 4);
  cli_json_put_real(json, "others", machine->others < 0 ? NAN : machine->others, 4);
  cli_json_put_real(json, "timer_ns", machine->timer_ns, 2);
  cli_json_put_real(json, "step_ns", machine->step_ns, 1);
  cli_json_end_object(json);
}

typedef struct {
  const char *key;
  size_t offset;
} real_member;

/* The numbers of a figure. */
static const real_member reals[] = {
    {"median", offsetof(bench_figure, median)}, {"low", offsetof(bench_figure, low)},
    {"high", offsetof(bench_figure, high)},     {"p5", offsetof(bench_figure, p5)},
    {"p95", offsetof(bench_figure, p95)},       {"p99", offsetof(bench_figure, p99)},
};

static void write_figure(cli_json *json, const bench_figure *figure) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "name", figure->name);
  cli_json_put_text(json, "unit", "ns");
  cli_json_put_number(json, "samples", figure->samples);
  cli_json_put_number(json, "rounds", figure->rounds);
  for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i)
    cli_json_put_real(json, reals[i].key, *(const double *)((const char *)figure + reals[i].offset),
                      3);
  cli_json_end_object(json);
}

static void write_comparison(cli_json *json, const bench_comparison *comparison) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "of", comparison->of);
  cli_json_put_text(json, "to", comparison->to);
  cli_json_put_number(json, "blocks", comparison->blocks);
  cli_json_put_number(json, "rounds", comparison->rounds);
  cli_json_put_real(json, "ratio", comparison->ratio.median, 6);
  cli_json_put_real(json, "low", comparison->ratio.low, 6);
  cli_json_put_real(json, "high", comparison->ratio.high, 6);
  cli_json_end_object(json);
}

static void write_check(cli_json *json, const bench_check *check) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "name", check->name);
  cli_json_put_real(json, "sum", check->sum, 3);
  cli_json_put_real(json, "total", check->total, 3);
  cli_json_put_real(json, "limit", BENCH_SUM_LIMIT, 2);
  cli_json_put_real(json, "slack", check->slack, 3);
  cli_json_put_bool(json, "holds", check->holds);
  cli_json_put_bool(json, "noisy", check->noisy);
  cli_json_end_object(json);
}

static void write_curve(cli_json *json, const bench_results *results, const bench_curve *curve) {
  cli_json_begin_object(json);
  cli_json_put_text(json, "name", curve->name);
  cli_json_put_text(json, "parameter", curve->parameter);
  cli_json_put_real(json, "exponent", curve->growth.exponent, 4);
  cli_json_put_real(json, "at_one", curve->growth.at_one, 3);
  cli_json_put_array(json, "points");
  for (size_t i = 0; i < curve->count; ++i) {
    cli_json_begin_object(json);
    cli_json_put_real(json, "at", curve->at[i], 0);
    cli_json_put_text(json, "figure", results->figures[curve->figures[i]].name);
    cli_json_end_object(json);
  }
  cli_json_end_array(json);
  cli_json_end_object(json);
}

void cli_bench_write_json(const bench_results *results, const char *command, FILE *file) {
  cli_json json = {.file = file};
  cli_json_begin_object(&json);
  cli_json_put_text(&json, "schema", schema);
  cli_json_put_text(&json, "suite", results->suite);
  cli_json_put_text(&json, "command", command);
  cli_json_put_text(&json, "libkdl", kdl_version());
  cli_json_put_text(&json, "date", results->machine.date);
  cli_json_put_bool(&json, "complete", !results->interrupted);
  write_machine(&json, &results->machine);
  cli_json_put_object(&json, "notes");
  for (size_t i = 0; i < results->note_count; ++i)
    cli_json_put_text(&json, results->notes[i].key, results->notes[i].text);
  cli_json_end_object(&json);
#define WRITE_ALL(member, call)                                                                    \
  cli_json_put_array(&json, #member "s");                                                          \
  for (size_t i = 0; i < results->member##_count; ++i)                                             \
    call;                                                                                          \
  cli_json_end_array(&json)
  WRITE_ALL(figure, write_figure(&json, &results->figures[i]));
  WRITE_ALL(comparison, write_comparison(&json, &results->comparisons[i]));
  WRITE_ALL(check, write_check(&json, &results->checks[i]));
  WRITE_ALL(curve, write_curve(&json, results, &results->curves[i]));
#undef WRITE_ALL
  cli_json_put_array(&json, "skipped");
  for (size_t i = 0; i < results->skip_count; ++i) {
    cli_json_begin_object(&json);
    cli_json_put_text(&json, "what", results->skips[i].what);
    cli_json_put_text(&json, "why", results->skips[i].why);
    cli_json_end_object(&json);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
}

/* ------------------------------------------------------------------------------------------ */
/* Reading: what compare needs                                                                  */

static kdl_status read_figure_member(kdl_json *json, const char *key, void *user) {
  bench_figure *figure = user;
  if (strcmp(key, "name") == 0)
    return kdl_json_string(json, figure->name, sizeof figure->name);
  for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i) {
    if (strcmp(key, reals[i].key) == 0)
      return kdl_json_real(json, (double *)((char *)figure + reals[i].offset));
  }
  return kdl_json_skip(json);
}

typedef struct {
  bench_results *results;
  char schema[32];
} reader;

static kdl_status read_results_key(kdl_json *json, const char *key, void *user) {
  reader *to = user;
  bool more = true;
  if (strcmp(key, "schema") == 0)
    return kdl_json_string(json, to->schema, sizeof to->schema);
  if (strcmp(key, "figures") != 0)
    return kdl_json_skip(json);
  KDL_TRY(kdl_json_begin(json, KDL_JSON_ARRAY));
  for (;;) {
    bench_figure figure = {.samples = 0};
    KDL_TRY(kdl_json_next_item(json, &more));
    if (!more)
      return KDL_OK;
    KDL_TRY(kdl_json_members(json, read_figure_member, &figure));
    size_t index = bench_figure_add(to->results, figure.name, NULL, 0, 0);
    if (to->results->no_memory)
      cli_out_of_memory();
    to->results->figures[index] = figure;
  }
}

kdl_status cli_bench_read_json(const char *path, bench_results *out_results) {
  cli_bytes bytes;
  kdl_json json;
  reader to = {.results = out_results};
  *out_results = (bench_results){.note_count = 0};
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_json_start(&json, path, bytes.data, bytes.size);
  kdl_status status = kdl_json_members(&json, read_results_key, &to);
  if (status == KDL_OK)
    status = kdl_json_finish(&json);
  cli_bytes_free(&bytes);
  if (status == KDL_OK && strcmp(to.schema, schema) != 0)
    status = kdl_fail(KDL_BAD_FILE,
                      "%s: found schema '%s', expected '%s': a file that kdl bench "
                      "--json wrote",
                      path, to.schema, schema);
  if (status != KDL_OK)
    bench_results_free(out_results);
  return status;
}
