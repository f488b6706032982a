/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl explain: which image a device would take, and why not the others. */
#include "base/error.h"
#include "cli/report.h"
#include "commands.h"
#include "explain/explain.h"

#include <stdio.h>
#include <unistd.h>

/* One after the other. *out_misses counts the devices on which something does not run. */
static kdl_status explain_devices(const cli_question *question, const cli_devices *devices,
                                  cli_json *json, size_t *out_misses) {
  kdl_status status = KDL_OK;
  *out_misses = 0;
  for (size_t i = 0; i < devices->count && status == KDL_OK; ++i) {
    cli_ranking ranking;
    status = cli_ranking_make(question, devices->items[i].device, &ranking);
    if (status == KDL_OK && !json && i)
      putchar('\n');
    if (status == KDL_OK && json)
      cli_explain_json(json, question, &ranking);
    else if (status == KDL_OK)
      status = cli_explain_text(question, &ranking);
    *out_misses += !ranking.fits;
    cli_ranking_free(&ranking);
  }
  return status;
}

static kdl_status list_devices(const cli_args *args, const cli_question *question,
                               cli_devices *out_devices) {
  if (cli_args_has(args, "device"))
    return cli_devices_given(args, "device", '\0', out_devices);
  if (cli_args_has(args, "all"))
    return cli_devices_here(out_devices);
  if (cli_args_has(args, "matrix"))
    return cli_devices_named(out_devices);
  return cli_devices_picked(question->input->lib, question->kernel, &question->opts, out_devices);
}

/* The outcome decides the exit code; what was printed has said it already. */
static int explain(const cli_args *args, const cli_question *question, const cli_devices *devices) {
  bool as_json = cli_args_has(args, "json");
  bool several = devices->count > 1 || cli_args_has(args, "all");
  kdl_status status;
  bool fits = false;
  if (cli_args_has(args, "matrix")) {
    status = (as_json ? cli_explain_matrix_json : cli_explain_matrix)(question, devices, &fits);
  } else {
    cli_json json = {.file = stdout};
    size_t misses;
    if (as_json && several)
      cli_json_begin_array(&json);
    status = explain_devices(question, devices, as_json ? &json : NULL, &misses);
    if (as_json && several)
      cli_json_end_array(&json);
    fits = cli_args_has(args, "all") ? misses < devices->count : misses == 0;
  }
  if (status != KDL_OK)
    return cli_finish(status);
  return fits ? CLI_EXIT_FINE : CLI_EXIT_NO_MATCH;
}

/* A shell's pattern gives several files where one is expected. */
static kdl_status check_kernel(const cli_question *question) {
  kdl_status held = cli_kernel_check(question->input, question->kernel);
  if (held == KDL_NO_MATCH && access(question->kernel, F_OK) == 0)
    return kdl_fail(KDL_BAD_CALL,
                    "found the files '%s' and '%s', expected one file, and the name of a kernel in "
                    "it if need be",
                    question->input->name, question->kernel);
  return held;
}

static int answer(const cli_args *args, cli_question *question) {
  cli_devices devices = {.count = 0};
  kdl_status held = question->kernel ? check_kernel(question) : KDL_OK;
  if (held != KDL_OK && (held != KDL_NO_MATCH || !cli_args_has(args, "json")))
    return cli_finish(held);
  if (held != KDL_OK)
    cli_finish(held);
  kdl_status status = cli_question_open(question);
  if (status == KDL_OK)
    status = list_devices(args, question, &devices);
  int code = status == KDL_OK ? explain(args, question, &devices) : cli_finish(status);
  cli_devices_free(&devices);
  cli_question_close(question);
  return code;
}

int cli_run_explain(const cli_args *args) {
  cli_input input;
  cli_question question = {.input = &input, .every_image = cli_args_has(args, "long")};
  if (cli_args_has(args, "device") && cli_args_has(args, "all"))
    return cli_finish(kdl_fail(KDL_BAD_CALL, "found --device and --all, expected one of them"));
  if (args->operand_count > 1)
    question.kernel = args->operands[1];
  kdl_status status = cli_choose_opts(args, &question.opts);
  if (status == KDL_OK)
    status = cli_input_open(args->operands[0], &input);
  if (status != KDL_OK)
    return cli_finish(status);
  int code = answer(args, &question);
  cli_input_close(&input);
  return code;
}
