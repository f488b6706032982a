/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli/command.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/report.h"
#include "confine/confine.h"
#include "confine/held_file.h"
#include "confine/worker.h"
#include "groups/groups.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NAME=X,Y,Z; the name is copied. */
static kdl_status read_kernel(const char *text, ld_groups_kernel *out_kernel) {
  const char *equals = strrchr(text, '=');
  kdl_string sizes = kdl_text_of(equals ? equals + 1 : "");
  size_t at = 0;
  bool is_right = equals && equals > text;
  for (int d = 0; d < 3 && is_right; ++d, ++at)
    is_right = kdl_text_number(sizes, &at, &out_kernel->block[d]) &&
               (d < 2 ? at < sizes.length && sizes.data[at] == ',' : at == sizes.length);
  if (!is_right)
    return kdl_fail(KDL_BAD_CALL, "--kernel: found '%s', expected NAME=X,Y,Z", text);
  out_kernel->name = strndup(text, (size_t)(equals - text));
  return out_kernel->name ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory for '%s'", text);
}

static kdl_status read_module(ld_context *context, const cli_bytes *bytes, const char *name,
                              LLVMModuleRef *out_module) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)bytes->data, bytes->size, name);
  char *problem = NULL;
  bool failed = LLVMParseIRInContext2(context->llvm, buffer, out_module, &problem);
  LLVMDisposeMemoryBuffer(buffer);
  kdl_status status = ld_context_check(context, name);
  if (failed && status == KDL_OK)
    status = kdl_fail(KDL_BAD_FILE, "%s: found IR that LLVM cannot read: %s", name,
                      problem ? problem : "");
  LLVMDisposeMessage(problem);
  return status;
}

typedef struct {
  ld_request request;
  ld_groups_kernel *kernels;
  size_t count;
  bool strips;
} groups_job;

static kdl_status make(const groups_job *job) {
  const ld_request *request = &job->request;
  ld_confinement confinement;
  ld_context context;
  cli_bytes bytes = {.data = NULL};
  LLVMModuleRef module = NULL;
  kdl_status status = ld_confine(request, NULL, &confinement);
  if (status == KDL_OK)
    status = cli_bytes_read(request->path, &bytes);
  if (status != KDL_OK)
    return status;
  ld_context_init(&context);
  status = read_module(&context, &bytes, request->path, &module);
  if (status == KDL_OK)
    status = ld_groups_make(&context, module, job->kernels, job->count);
  if (status == KDL_OK && job->strips)
    LLVMStripModuleDebugInfo(module);
  if (status == KDL_OK) {
    LLVMMemoryBufferRef made = LLVMWriteBitcodeToMemoryBuffer(module);
    status = ld_held_file_write(request->output, LLVMGetBufferStart(made), LLVMGetBufferSize(made));
    LLVMDisposeMemoryBuffer(made);
  }
  if (module)
    LLVMDisposeModule(module);
  ld_context_free(&context);
  cli_bytes_free(&bytes);
  return status;
}

static int work(void *user) {
  kdl_status status = make(user);
  cli_finish(status);
  return status == KDL_OK ? 0 : 1;
}

static kdl_status make_apart(groups_job *job, int *out_code) {
  ld_held_file output;
  bool is_apart;
  kdl_status status = ld_confine_wanted(&is_apart);
  if (status == KDL_OK)
    status = ld_held_file_make(&job->request.output, &output);
  if (status != KDL_OK)
    return status;
  status = ld_worker_run(is_apart, work, job, out_code);
  if (status == KDL_OK && *out_code == 0)
    return ld_held_file_save(&output);
  ld_held_file_drop(&output);
  return status;
}

static int run(const cli_args *args) {
  groups_job job = {
      .request = {.path = cli_args_value(args, "caller"), .output = cli_args_value(args, "output")},
      .strips = cli_args_has(args, "strip")};
  const ld_request *request = &job.request;
  size_t count = 0, cursor = 0;
  while (cli_args_next(args, "kernel", &cursor))
    ++count;
  ld_groups_kernel *kernels = calloc(count + 1, sizeof *kernels);
  kdl_status status = kernels ? KDL_OK : kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK && (!request->path || !request->output || count == 0))
    status = kdl_fail(KDL_BAD_CALL, "expected --caller, --output and --kernel");
  cursor = 0;
  for (size_t i = 0; i < count && status == KDL_OK; ++i)
    status = read_kernel(cli_args_next(args, "kernel", &cursor), &kernels[i]);
  job.kernels = kernels;
  job.count = count;
  int code = 1;
  if (status == KDL_OK)
    status = make_apart(&job, &code);
  for (size_t i = 0; kernels && i < count; ++i)
    free((char *)kernels[i].name);
  free(kernels);
  cli_finish(status);
  return status == KDL_OK ? code : 1;
}

static const cli_option options[] = {
    {"caller", 0, CLI_ONCE, "FILE", "the IR of kernels, as kdl cc makes it"},
    {"kernel", 0, CLI_MANY, "NAME=X,Y,Z", "a kernel that waits, and its block; 0: the launch's"},
    {"output", 'o', CLI_ONCE, "FILE", "where to write bitcode"},
    {"strip", 0, CLI_FLAG, NULL, "leave out the lines of the source"},
    {.name = NULL},
};

static const cli_command command = {
    .name = "kdl-ld --groups",
    .usage = "kdl-ld --groups --caller=FILE --output=FILE --kernel=NAME=X,Y,Z...",
    .summary = "makes kernels for the CPU whose work-items wait do a group each",
    .details = "Started by 'kdl cc'.",
    .options = options,
    .max_operands = 0,
    .run = run,
};

int ld_groups_command(int count, char **words) {
  cli_args args;
  kdl_status status = cli_args_parse(&command, count, words, &args);
  int code = 0;
  if (status != KDL_OK) {
    cli_finish(status);
    code = 1;
  } else if (args.help) {
    cli_command_help(&command);
  } else {
    code = run(&args);
  }
  cli_args_free(&args);
  return code;
}
