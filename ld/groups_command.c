/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/commands.h"

#include "compiler/ir/groups/groups.h"
#include "compiler/ir/linker/module.h"
#include "ld/confine/confine.h"
#include "ld/confine/worker.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <llvm-c/BitWriter.h>
#include <llvm-c/DebugInfo.h>

/* NAME=X,Y,Z */
static kdl_status parse_groups_kernel(kdl_arena *arena, const char *text,
                                      ir_groups_kernel *out_kernel) {
  const char *equals = strrchr(text, '=');
  kdl_string sizes = kdl_text_of(equals ? equals + 1 : "");
  size_t at = 0;
  bool is_right = equals && equals > text;
  for (int d = 0; d < 3 && is_right; ++d, ++at)
    is_right = kdl_text_parse_number(sizes, &at, &out_kernel->block[d]) &&
               (d < 2 ? at < sizes.length && sizes.data[at] == ',' : at == sizes.length);
  if (!is_right)
    return kdl_fail(KDL_BAD_CALL, "--kernel: bad value '%s': use NAME=X,Y,Z", text);
  out_kernel->name = xarena_string(arena, text, (size_t)(equals - text)).data;
  return KDL_OK;
}

typedef struct {
  ir_request request;
  ir_groups_kernel *kernels;
  size_t count;
  bool strips;
} groups_job;

static kdl_status lower_groups(const groups_job *job, ir_context *context, LLVMModuleRef module) {
  KDL_TRY(ir_groups_lower(module, job->kernels, job->count));
  KDL_TRY(ir_context_check(context, "barriers"));
  if (job->strips)
    LLVMStripModuleDebugInfo(module);
  LLVMMemoryBufferRef made = LLVMWriteBitcodeToMemoryBuffer(module);
  kdl_status status =
      ld_held_file_write(job->request.output, LLVMGetBufferStart(made), LLVMGetBufferSize(made));
  LLVMDisposeMemoryBuffer(made);
  return status;
}

static kdl_status confine_and_lower(const groups_job *job) {
  const ir_request *request = &job->request;
  ld_confinement confinement;
  ir_context context;
  cli_bytes bytes;
  LLVMModuleRef module = NULL;
  KDL_TRY(ld_confine(request, NULL, NULL, &confinement));
  KDL_TRY(cli_bytes_read(request->path, &bytes));
  ir_context_init(&context);
  kdl_status status = ir_module_read_text(&context, bytes.data, bytes.size, request->path, &module);
  if (status == KDL_OK)
    status = lower_groups(job, &context, module);
  if (module)
    LLVMDisposeModule(module);
  ir_context_free(&context);
  cli_bytes_free(&bytes);
  return status;
}

static int groups_worker(void *user) {
  kdl_status status = confine_and_lower(user);
  cli_report_status(status);
  return status == KDL_OK ? 0 : 1;
}

static kdl_status run_groups_worker(groups_job *job, int *out_code) {
  ld_held_file output;
  bool is_apart;
  KDL_TRY(ld_confine_wanted(&is_apart));
  KDL_TRY(ld_held_file_make(&job->request.output, &output));
  kdl_status status = ld_worker_run(is_apart, groups_worker, job, out_code);
  if (status == KDL_OK && *out_code == 0)
    return ld_held_file_save(&output);
  ld_held_file_drop(&output);
  return status;
}

static kdl_status run_groups(const cli_args *args, kdl_arena *arena, int *out_code) {
  groups_job job = {
      .request = {.path = cli_args_value(args, "caller"), .output = cli_args_value(args, "output")},
      .strips = cli_args_has(args, "strip")};
  const char *kernel;
  size_t cursor = 0;
  job.kernels = xarena_alloc(arena, (args->setting_count + 1) * sizeof *job.kernels);
  while ((kernel = cli_args_next(args, "kernel", &cursor)))
    KDL_TRY(parse_groups_kernel(arena, kernel, &job.kernels[job.count++]));
  if (!job.request.path || !job.request.output || job.count == 0)
    return kdl_fail(KDL_BAD_CALL, "missing options: use --caller, --output and --kernel");
  return run_groups_worker(&job, out_code);
}

static int run_groups_command(const cli_args *args) {
  kdl_arena arena = {.blocks = NULL};
  int code = 1;
  kdl_status status = run_groups(args, &arena, &code);
  cli_report_status(status);
  kdl_arena_free(&arena);
  return status == KDL_OK ? code : 1;
}

static const cli_option options[] = {
    {"caller", 0, CLI_ONCE, "FILE", "the IR of kernels, as kdl cc makes it"},
    {"kernel", 0, CLI_MANY, "NAME=X,Y,Z", "a kernel that waits, and its block; 0: the launch's"},
    {"output", 'o', CLI_ONCE, "FILE", "where to write bitcode"},
    {"strip", 0, CLI_FLAG, NULL, "leave out the lines of the source"},
    {.name = NULL},
};

const cli_command ld_groups_command = {
    .name = "kdl-ld --groups",
    .usage = "kdl-ld --groups --caller=FILE --output=FILE --kernel=NAME=X,Y,Z...",
    .summary = "makes kernels for the CPU whose work-items wait do a group each",
    .details = "Started by 'kdl cc'.",
    .options = options,
    .max_operands = 0,
    .run = run_groups_command,
};
