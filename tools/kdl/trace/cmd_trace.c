/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl trace: runs a program with tracing, and reports its trace. */
#include "support/base/error.h"
#include "tools/common/input.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/trace/trace_report.h"

#include <stdlib.h>
#include <string.h>

typedef void write_function(const cli_trace *trace, const cli_trace_sums *sums, FILE *file);

static const struct {
  const char *option;
  write_function *write;
} forms[] = {{"json", cli_trace_write_json},
             {"folded", cli_trace_write_folded},
             {"html", cli_trace_write_html}};
enum { form_count = sizeof forms / sizeof *forms };

static kdl_status save_form(const char *path, write_function *write, const cli_trace *trace,
                            const cli_trace_sums *sums) {
  char *data;
  size_t size;
  FILE *file = xtext_stream(&data, &size);
  write(trace, sums, file);
  xtext_close(file);
  kdl_status status = cli_output_save(path, data, size);
  free(data);
  return status;
}

static kdl_status save_forms(const cli_args *args, const cli_trace *trace,
                             const cli_trace_sums *sums) {
  for (size_t i = 0; i < form_count; ++i) {
    const char *path = cli_args_value(args, forms[i].option);
    if (path)
      KDL_TRY(save_form(path, forms[i].write, trace, sums));
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status refuse_options(const cli_args *args, const char *const *options, const char *by) {
  for (; *options; ++options) {
    if (cli_args_has(args, *options))
      return kdl_fail(KDL_BAD_CALL, "unexpected --%s: %s does not take it", *options, by);
  }
  return KDL_OK;
}

static kdl_status read_trace(const char *path, cli_trace *trace, cli_trace_sums *out_sums) {
  cli_bytes bytes;
  KDL_TRY(cli_bytes_read(path, &bytes));
  kdl_status status = cli_trace_read(path, bytes.data, bytes.size, trace);
  cli_bytes_free(&bytes);
  if (status == KDL_OK)
    cli_trace_sum_up(trace, out_sums);
  return status;
}

cli_demangler *cli_trace_demangler(const cli_args *args) {
  cli_demangler *demangler = NULL;
  if (!cli_args_has(args, "no-demangle"))
    (void)cli_demangler_start(&demangler);
  return demangler;
}

static kdl_status read_and_print(const cli_args *args, bool is_fold, cli_trace *trace,
                                 cli_trace_sums *sums) {
  static const char *const of_run[] = {"gpu-time", "size", "launched", "no-launches", NULL};
  static const char *const of_others[] = {"json", "folded", "html", NULL};
  static const char *const of_fold[] = {"output", NULL};
  static const char *const not_of_fold[] = {"json", "folded", "html", "no-demangle", NULL};
  const char *word = is_fold ? "trace fold" : "trace report";
  const char *on_stdout = NULL; /* then no text is printed */
  KDL_TRY(refuse_options(args, of_run, word));
  KDL_TRY(refuse_options(args, is_fold ? not_of_fold : of_fold, word));
  KDL_TRY(cli_output_on_stdout(args, of_others, &on_stdout));
  if (args->operand_count != 2)
    return kdl_fail(KDL_BAD_CALL, "%zu files are given: use one trace", args->operand_count - 1);
  cli_output_protect(args->operands + 1, 1);
  KDL_TRY(read_trace(args->operands[1], trace, sums));
  if (is_fold) {
    const char *path = cli_args_value(args, "output");
    return save_form(path ? path : "-", cli_trace_write_folded, trace, sums);
  }
  if (!on_stdout) {
    cli_demangler *demangler = cli_trace_demangler(args);
    kdl_status status = cli_trace_print(trace, sums, demangler);
    cli_demangler_stop(demangler);
    KDL_TRY(status);
  }
  return save_forms(args, trace, sums);
}

static int run_program(const cli_args *args) {
  static const char *const of_report[] = {"folded", "html", NULL};
  kdl_status status = refuse_options(args, of_report, "a program that is run");
  if (status == KDL_OK && args->operand_count == 0)
    status = kdl_fail(KDL_BAD_CALL, "missing program: use -- PROGRAM");
  if (status == KDL_OK && cli_args_has(args, "launched") && cli_args_has(args, "no-launches"))
    status =
        kdl_fail(KDL_BAD_CALL, "--launched and --no-launches exclude each other: use one of them");
  return status == KDL_OK ? cli_trace_run(args, args->operands) : cli_report_status(status);
}

int cli_run_trace(const cli_args *args) {
  if (args->plain_count == 0)
    return run_program(args);
  const char *word = args->operands[0];
  if (strcmp(word, "report") == 0 || strcmp(word, "fold") == 0) {
    cli_trace trace = {.text_count = 0};
    cli_trace_sums sums = {.phase_count = 0};
    kdl_status status = read_and_print(args, strcmp(word, "fold") == 0, &trace, &sums);
    cli_trace_sums_free(&sums);
    cli_trace_free(&trace);
    return cli_report_status(status);
  }
  return cli_report_status(
      kdl_fail(KDL_BAD_CALL, "unknown subcommand '%s': use report, fold or -- PROGRAM", word));
}
