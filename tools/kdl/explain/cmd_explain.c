/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl explain: the image that a device would select, and why not the others. */
#include "support/base/error.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"
#include "tools/kdl/explain/explain.h"

#include <stdio.h>
#include <unistd.h>

/* Explains device after device. *out_misses counts those on which something does not run. */
static kdl_status explain_devices(const cli_query *query, const cli_devices *devices,
                                  cli_json *json, size_t *out_misses) {
  *out_misses = 0;
  for (size_t i = 0; i < devices->count; ++i) {
    cli_ranking ranking;
    kdl_status status = cli_ranking_make(query, devices->items[i].device, &ranking);
    if (status == KDL_OK && json)
      cli_explain_json(json, query, &ranking);
    else if (status == KDL_OK)
      status = cli_explain_text(query, &ranking, i ? "\n" : "");
    *out_misses += !ranking.fits;
    cli_ranking_free(&ranking);
    KDL_TRY(status);
  }
  return KDL_OK;
}

static kdl_status list_query_devices(const cli_args *args, const cli_query *query,
                                     cli_devices *out_devices) {
  if (cli_args_has(args, "device"))
    return cli_devices_given(args, "device", '\0', out_devices);
  if (cli_args_has(args, "all")) {
    cli_devices_native(out_devices);
    return KDL_OK;
  }
  if (cli_args_has(args, "matrix"))
    return cli_devices_named(out_devices);
  return cli_devices_picked(query->input->lib, query->kernel, &query->opts, out_devices);
}

/* What the policy adaptive has measured. */
static kdl_status print_choices(const cli_query *query) {
#if KDL_WITH_ADAPTIVE
  size_t count;
  if (query->kernel && query->opts.policy == KDL_POLICY_ADAPTIVE) {
    putchar('\n');
    KDL_TRY(cli_choices_print(query->input->lib, query->kernel, &count));
    if (!count)
      cli_text_printf(stdout, "no times of %s were measured\n", query->kernel);
  }
#else
  (void)query;
#endif
  return KDL_OK;
}

/* Values that have images of their own. */
static kdl_status print_specialized(const cli_query *query) {
#if KDL_WITH_JIT
  if (query->kernel)
    return cli_specialized_print(query->input->lib, query->kernel);
#else
  (void)query;
#endif
  return KDL_OK;
}

/* The exit code depends on the outcome, which was already printed. */
static int explain(const cli_args *args, const cli_query *query, const cli_devices *devices) {
  bool as_json = cli_args_has(args, "json");
  bool several = devices->count > 1 || cli_args_has(args, "all");
  kdl_status status;
  bool fits = false;
  if (cli_args_has(args, "matrix")) {
    status = (as_json ? cli_explain_matrix_json : cli_explain_matrix)(query, devices, &fits);
  } else {
    cli_json json = {.file = stdout};
    size_t misses;
    if (as_json && several)
      cli_json_begin_array(&json);
    status = explain_devices(query, devices, as_json ? &json : NULL, &misses);
    if (as_json && several)
      cli_json_end_array(&json);
    fits = cli_args_has(args, "all") ? misses < devices->count : misses == 0;
    if (status == KDL_OK && !as_json)
      status = print_choices(query);
    if (status == KDL_OK && !as_json)
      status = print_specialized(query);
  }
  if (status != KDL_OK)
    return cli_report_status(status);
  return fits ? CLI_EXIT_SUCCESS : CLI_EXIT_NO_MATCH;
}

/* A shell pattern may have given several files where one is expected. */
static kdl_status check_kernel(const cli_query *query) {
  kdl_status held = cli_kernel_check(query->input, query->kernel);
  if (held == KDL_NO_MATCH && access(query->kernel, F_OK) == 0)
    return kdl_fail(
        KDL_BAD_CALL,
        "'%s' and '%s' are both files: use one file, and the name of a kernel in it if need be",
        query->input->name, query->kernel);
  return held;
}

/* Every sequence of the file; *out_count is how many it has. */
static kdl_status show_sequences(const cli_args *args, const cli_input *input, size_t *out_count) {
  *out_count = 0;
  for (size_t i = 0; cli_sequence_next(input->lib, &i); ++i) {
    cli_sequence sequence;
    kdl_status status = cli_sequence_read(input->lib, i, &sequence);
    if (status != KDL_OK) {
      kdl_error_prefix("%s", input->name);
      return status;
    }
    if ((*out_count)++)
      putchar('\n');
    if (cli_args_has(args, "dot"))
      cli_sequence_dot(&sequence);
    else
      status = cli_sequence_print(input->name, &sequence);
    cli_sequence_free(&sequence);
    KDL_TRY(status);
  }
  return KDL_OK;
}

/* Whether the sequences were all that was asked for. */
static bool explain_sequences(const cli_args *args, const cli_query *query, int *out_code) {
  bool draws = cli_args_has(args, "dot");
  size_t count = 0;
  if (!draws && (query->kernel || cli_args_has(args, "json") || cli_args_has(args, "matrix")))
    return false;
  kdl_status status = show_sequences(args, query->input, &count);
  if (status == KDL_OK && draws && count == 0)
    status = kdl_fail(KDL_NO_MATCH, "%s: found no recorded sequence to draw", query->input->name);
  *out_code = cli_report_status(status);
  if (status == KDL_OK && !draws && count && count < kdl_image_count(query->input->lib))
    putchar('\n');
  return status != KDL_OK || draws || (count && count == kdl_image_count(query->input->lib));
}

static int answer(const cli_args *args, cli_query *query) {
  cli_devices devices = {.count = 0};
  kdl_status held = query->kernel ? check_kernel(query) : KDL_OK;
  if (held != KDL_OK && (held != KDL_NO_MATCH || !cli_args_has(args, "json")))
    return cli_report_status(held);
  if (held != KDL_OK)
    cli_report_status(held);
  kdl_status status = cli_query_open(query);
  if (status == KDL_OK)
    status = list_query_devices(args, query, &devices);
  int code = status == KDL_OK ? explain(args, query, &devices) : cli_report_status(status);
  cli_devices_free(&devices);
  cli_query_close(query);
  return code;
}

int cli_run_explain(const cli_args *args) {
  cli_input input;
  cli_launch launch = {.text = cli_args_value(args, "args")};
  cli_query query = {.input = &input, .every_image = cli_args_has(args, "long")};
  if (cli_args_has(args, "device") && cli_args_has(args, "all"))
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "--device and --all exclude each other: use one of them"));
  if (args->operand_count > 1)
    query.kernel = args->operands[1];
  if (launch.text && !query.kernel)
    return cli_report_status(kdl_fail(KDL_BAD_CALL, "missing kernel: use FILE KERNEL with --args"));
  kdl_status status = cli_selection_options(args, &query.opts);
  if (status == KDL_OK && launch.text) {
    status = cli_launch_parse(launch.text, &launch);
    query.launch = &launch;
  }
  if (status == KDL_OK)
    status = cli_input_open(args->operands[0], &input);
  int code = CLI_EXIT_SUCCESS;
  if (status != KDL_OK)
    code = cli_report_status(status);
  else if (!explain_sequences(args, &query, &code))
    code = answer(args, &query);
  if (status == KDL_OK)
    cli_input_close(&input);
  cli_launch_free(&launch);
  return code;
}
