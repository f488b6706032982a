/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "base/text.h"
#include "bitcode/linker.h"
#include "cli/text.h"
#include "library/library.h"
#include "link/link.h"
#include "system/loader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { largest_output = 1 << 30 };

static void add_all(kdl_words *options, const cli_args *args, const char *option) {
  size_t cursor = 0;
  for (const char *value; (value = cli_args_next(args, option, &cursor));)
    kdl_words_format(options, "--%s=%s", option, value);
}

static void make_options(const cli_link_job *job, size_t image, kdl_words *options) {
  kdl_words_format(options, "--name=%.400s: image %zu", job->input->name, image);
  kdl_words_format(options, "--emit=%s", job->emit);
  kdl_words_add(options, "--unused-constants=ignore");
  if (!job->input->bytes.data) /* only a library that came through a pipe has no name to go by */
    kdl_words_format(options, "--ukernels=%s", job->input->name);
  add_all(options, job->args, "ukernels");
  kdl_linker_add_places(options);
  add_all(options, job->args, "const");
  if (cli_args_has(job->args, "no-builtin"))
    kdl_words_add(options, "--no-builtin");
}

static void pass_on(const char *line, size_t length) {
  char *printable = cli_text_printable((kdl_string){line, length});
  if (printable)
    fprintf(stderr, "%s\n", printable);
  free(printable);
}

/* What kdl-ld says beside its errors, KDL_DEBUG's lines above all, is passed on; its errors become
 * ours. */
static void tell_rest(char *words, kdl_out *errors) {
  static const char mark[] = "kdl-ld: error: ";
  bool is_error = false;
  for (char *line = words; *line;) {
    size_t length = strcspn(line, "\n");
    bool starts = strncmp(line, mark, sizeof mark - 1) == 0;
    is_error = starts || (is_error && line[0] == ' ');
    if (is_error)
      kdl_out_format(errors, "%s%.*s", errors->used ? starts ? "\n  " : "\n" : "",
                     (int)(length - (starts ? sizeof mark - 1 : 0)),
                     line + (starts ? sizeof mark - 1 : 0));
    else
      pass_on(line, length);
    line += length + (line[length] == '\n');
  }
}

static kdl_status judge(kdl_subprocess_outcome *outcome, const char *linker, int64_t milliseconds) {
  char message[1800] = "";
  kdl_out errors = {message, sizeof message, 0};
  tell_rest(outcome->words, &errors);
  if (outcome->end == KDL_SUBPROCESS_EXITED && outcome->code == 0)
    return KDL_OK;
  if (outcome->end == KDL_SUBPROCESS_EXITED && outcome->code == 1 && message[0])
    return kdl_fail(KDL_BAD_FILE, "%s", message);
  if (outcome->end == KDL_SUBPROCESS_OVERRAN)
    return kdl_fail(KDL_BAD_FILE,
                    "%s took longer than %" PRId64
                    " s (KDL_LD_TIMEOUT): the bitcode may be damaged",
                    linker, milliseconds / 1000);
  return kdl_fail(KDL_BAD_FILE, "%s died of %s %d: the bitcode may be damaged%s%s", linker,
                  outcome->end == KDL_SUBPROCESS_KILLED ? "signal" : "status", outcome->code,
                  message[0] ? ": " : "", message);
}

static kdl_status call(const cli_link_job *job, size_t image, const kdl_linker_call *with,
                       kdl_linker_run *out_run) {
  kdl_arena arena = {.blocks = NULL};
  kdl_words options = {.arena = &arena};
  make_options(job, image, &options);
  kdl_linker_call whole = *with;
  whole.options = &options;
  kdl_status status = kdl_linker_call_run(&whole, out_run);
  kdl_arena_free(&arena);
  return status == KDL_OK ? judge(&out_run->outcome, with->path, with->limits.milliseconds)
                          : status;
}

/* A report is there after a refusal too, where kdl-ld came far enough; the message then is the
 * failure's. */
static kdl_status read_report(const kdl_linker_run *run, kdl_status called,
                              kdl_link_report *report) {
  char message[2048];
  snprintf(message, sizeof message, "%s", called == KDL_OK ? "" : kdl_error_message());
  kdl_status status = kdl_linker_report(run, report);
  return called == KDL_OK ? status : kdl_fail(called, "%s", message);
}

/* A library that came through a pipe is called what it is called on this side. */
static void rename_library(const cli_link_job *job, kdl_link_report *report) {
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    kdl_link_ukernel *ukernel = &report->ukernels[i];
    for (size_t c = 0; c < ukernel->count; ++c) {
      if (strcmp(ukernel->candidates[c].library, KDL_LINKER_LIBRARY) == 0)
        ukernel->candidates[c].library = job->input->name;
    }
  }
}

kdl_status cli_link_run(const cli_link_job *job, size_t image, const char *device,
                        cli_link_result *out_result) {
  char linker[PATH_MAX];
  kdl_linker_run run;
  kdl_linker_call what = {.path = linker,
                          .largest_output = largest_output,
                          .device = device,
                          .library = job->input->bytes.data,
                          .library_size = job->input->bytes.size};
  *out_result = (cli_link_result){.report = {.error = ""}};
  if (!kdl_linker_path(linker))
    return kdl_fail(KDL_UNSUPPORTED,
                    "kdl-ld not found, expected it beside this program or in KDL_LD: it links "
                    "bitcode, and is built where LLVM 22 is (Debian: llvm-22-dev)");
  kdl_status status = kdl_container_bytes_to_run(job->input->lib->container, (uint32_t)image,
                                                 &what.caller, &what.caller_size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s: image %zu", job->input->name, image);
  if (status == KDL_OK)
    status = kdl_link_limits_read(&what.limits);
  if (status != KDL_OK)
    return status;
  status = call(job, image, &what, &run);
  status = read_report(&run, status, &out_result->report);
  rename_library(job, &out_result->report);
  if (status == KDL_OK && strcmp(job->emit, "choice") != 0)
    status = kdl_linker_output(&run, &out_result->data, &out_result->size);
  kdl_linker_close(&run);
  return status;
}

void cli_link_result_free(cli_link_result *result) {
  kdl_link_report_free(&result->report);
  free(result->data);
}
