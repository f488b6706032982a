/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/commands/link.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/loader.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { largest_output = 1 << 30 };

static void add_option_values(kdl_string_list *options, const cli_args *args, const char *option) {
  size_t cursor = 0;
  for (const char *value; (value = cli_args_next(args, option, &cursor));)
    kdl_string_list_append_format(options, "--%s=%s", option, value);
}

static void make_options(const cli_link_job *job, size_t image, bool is_checked,
                         kdl_string_list *options) {
  kdl_string_list_append_format(options, "--name=%.400s: image %zu", job->input->name, image);
  kdl_string_list_append_format(options, "--emit=%s", job->emit);
  kdl_string_list_append(options, "--unused-constants=ignore");
  if (!is_checked) {
    if (!job->input->bytes.data) /* only a library from a pipe has no name to open */
      kdl_string_list_append_format(options, "--ukernels=%s", job->input->name);
    add_option_values(options, job->args, "ukernels");
    kdl_linker_add_search_path(options);
  }
  add_option_values(options, job->args, "const");
  if (cli_args_has(job->args, "no-builtin"))
    kdl_string_list_append(options, "--no-builtin");
}

/* Where signatures are checked, kdl-ld gets the checked bytes. Otherwise it opens the libraries
 * itself, except for one from a pipe. */
static kdl_status gather_ukernels(const cli_link_job *job, kdl_ukernels *ukernels) {
  size_t cursor = 0;
  KDL_TRY(kdl_ukernels_begin(ukernels));
  if (ukernels->policy == KDL_TRUST_OFF)
    return KDL_OK;
  KDL_TRY(kdl_ukernels_add(ukernels, job->input->lib, job->input->name, NULL, NULL));
  for (const char *place; (place = cli_args_next(job->args, "ukernels", &cursor));)
    KDL_TRY(kdl_ukernels_add_file(ukernels, place));
  return kdl_ukernels_add_search_path(ukernels);
}

static void forward_message(kdl_string line, const kdl_linker_call *call) {
  char text[2048];
  kdl_out out = {text, sizeof text, 0};
  text[0] = '\0';
  kdl_linker_format_message(call, line, &out);
  cli_text_put(stderr, kdl_text_of(text));
  fputc('\n', stderr);
}

/* Other lines of kdl-ld, mostly KDL_DEBUG's, are passed on; its error becomes ours. */
static void split_messages(const char *words, const kdl_linker_call *call, kdl_out *errors) {
  static const char mark[] = "kdl-ld: error: ";
  bool is_error = false;
  for (const char *at = words; *at;) {
    kdl_string line = {at, strcspn(at, "\n")};
    at += line.length + (at[line.length] == '\n');
    bool starts = kdl_text_starts(line, mark);
    is_error = starts || (is_error && line.length && line.data[0] == ' ');
    if (is_error) {
      kdl_out_format(errors, "%s", errors->used ? starts ? "\n  " : "\n" : "");
      kdl_linker_format_message(call, kdl_text_substr(line, starts ? sizeof mark - 1 : 0), errors);
    } else {
      forward_message(line, call);
    }
  }
}

static kdl_status check_linker_outcome(const kdl_subprocess_outcome *outcome,
                                       const kdl_linker_call *call, const char *skipped) {
  char message[1800] = "";
  kdl_out errors = {message, sizeof message, 0};
  split_messages(outcome->words, call, &errors);
  if (outcome->end == KDL_SUBPROCESS_EXITED && outcome->code == 0)
    return KDL_OK;
  if (outcome->end == KDL_SUBPROCESS_EXITED && outcome->code == 1 && message[0])
    return kdl_fail(KDL_BAD_FILE, "%s%s", message, skipped);
  if (outcome->end == KDL_SUBPROCESS_OVERRAN)
    return kdl_fail(KDL_BAD_FILE,
                    "%s took longer than %" PRId64
                    " s (KDL_LD_TIMEOUT): the bitcode may be damaged",
                    call->path, call->limits.milliseconds / 1000);
  return kdl_fail(KDL_BAD_FILE, "%s died of %s %d: the bitcode may be damaged%s%s", call->path,
                  outcome->end == KDL_SUBPROCESS_KILLED ? "signal" : "status", outcome->code,
                  message[0] ? ": " : "", message);
}

static kdl_status call(const cli_link_job *job, size_t image, const kdl_ukernels *ukernels,
                       kdl_linker_call *what, kdl_linker_run *out_run) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list options = {.arena = &arena};
  make_options(job, image, ukernels->policy != KDL_TRUST_OFF, &options);
  what->options = &options;
  kdl_status status = kdl_linker_call_run(what, out_run);
  kdl_arena_free(&arena);
  what->options = NULL;
  return status == KDL_OK ? check_linker_outcome(&out_run->outcome, what, ukernels->skipped)
                          : status;
}

/* After a refusal there may be a report too; the failure then keeps kdl-ld's message. */
static kdl_status read_linker_report(const kdl_linker_run *run, kdl_status called,
                                     kdl_link_report *report) {
  char message[2048];
  snprintf(message, sizeof message, "%s", called == KDL_OK ? "" : kdl_error_message());
  kdl_status status = kdl_linker_report(run, report);
  return called == KDL_OK ? status : kdl_fail(called, "%s", message);
}

/* Libraries that were passed as bytes get back the names that they have in this process. */
static void rename_libraries(const kdl_linker_call *call, kdl_link_report *report) {
  for (size_t i = 0; i < report->ukernel_count; ++i) {
    kdl_link_ukernel *ukernel = &report->ukernels[i];
    for (size_t c = 0; c < ukernel->count; ++c) {
      kdl_string said = kdl_text_of(ukernel->candidates[c].library);
      size_t length = 0;
      const char *name = kdl_linker_file_name(call, said, &length);
      if (name && length == said.length)
        ukernel->candidates[c].library = name;
    }
  }
}

static kdl_status run_linker(const cli_link_job *job, size_t image, const kdl_ukernels *ukernels,
                             kdl_linker_call *what, cli_link_result *result) {
  kdl_linker_run run;
  KDL_TRY(kdl_link_limits_read(&what->limits));
  kdl_status status = call(job, image, ukernels, what, &run);
  status = read_linker_report(&run, status, &result->report);
  rename_libraries(what, &result->report);
  if (status == KDL_OK && strcmp(job->emit, "choice") != 0)
    status = kdl_linker_output(&run, &result->data, &result->size);
  kdl_linker_close(&run);
  return status;
}

kdl_status cli_link_run(const cli_link_job *job, size_t image, const char *device,
                        cli_link_result *out_result) {
  char linker[PATH_MAX];
  const cli_bytes *piped = &job->input->bytes;
  const kdl_linker_library library = {job->input->name, piped->data, piped->size};
  kdl_linker_call what = {.path = linker,
                          .largest_output = largest_output,
                          .device = device,
                          .libraries = &library,
                          .library_count = piped->data != NULL};
  *out_result = (cli_link_result){.report = {.error = ""}};
  if (!kdl_linker_path(linker))
    return kdl_fail(
        KDL_UNSUPPORTED,
        "kdl-ld not found, expected it in the folder of this program or in KDL_LD: it links "
        "bitcode; " KDL_LINKER_HOW);
  kdl_status status = kdl_library_bytes(job->input->lib, (uint32_t)image, KDL_BYTES_VERIFIED,
                                        &what.caller, &what.caller_size);
  if (status == KDL_BAD_FILE)
    kdl_error_prefix("%s: image %zu", job->input->name, image);
  if (status != KDL_OK)
    return status;
  status = gather_ukernels(job, &out_result->ukernels);
  if (out_result->ukernels.policy != KDL_TRUST_OFF) {
    what.libraries = out_result->ukernels.items;
    what.library_count = out_result->ukernels.count;
  }
  return status == KDL_OK ? run_linker(job, image, &out_result->ukernels, &what, out_result)
                          : status;
}

void cli_link_result_free(cli_link_result *result) {
  kdl_ukernels_free(&result->ukernels);
  kdl_link_report_free(&result->report);
  free(result->data);
}
