/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ld/commands.h"

#include "compiler/ir/portable/form.h"
#include "ld/confine/confine.h"
#include "ld/confine/worker.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/report.h"

#include <llvm-c/BitWriter.h>

typedef struct {
  ir_request request;
  ir_form_kernel *kernels;
  size_t count;
  bool is_check;     /* of an image; no output */
  const char *needs; /* its metadata; NULL: not to be checked */
} form_job;

static kdl_status parse_kernel(kdl_arena *arena, const char *text, ir_form_kernel *out_kernel) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text || !ir_form_kernel_parse(kdl_text_of(equals + 1), out_kernel))
    return kdl_fail(KDL_BAD_CALL, "--kernel: bad value '%s': use NAME=X,Y,Z,X,Y,Z,N", text);
  out_kernel->name = xarena_string(arena, text, (size_t)(equals - text)).data;
  return KDL_OK;
}

static kdl_status check_image(const form_job *job, ir_context *context, const cli_bytes *bytes) {
  const char *name = job->request.caller;
  LLVMModuleRef module;
  KDL_TRY(ir_module_read(context, bytes->data, bytes->size, name, &module));
  kdl_status status = ir_form_is(module)
                          ? ir_form_check(module, name)
                          : kdl_fail(KDL_BAD_FILE,
                                     "%s: found no mark of portable bitcode, expected "
                                     "an image that 'kdl cc --targets=portable' made",
                                     name);
  if (status == KDL_OK && job->needs)
    status = ir_form_check_needs(module, kdl_text_of(job->needs), name);
  LLVMDisposeModule(module);
  return status;
}

static kdl_status make_image(const form_job *job, ir_context *context, const cli_bytes *bytes) {
  LLVMModuleRef module = NULL;
  kdl_status status =
      ir_module_read_text(context, bytes->data, bytes->size, job->request.path, &module);
  if (status == KDL_OK)
    status = ir_form_make(module, job->kernels, job->count, "portable");
  if (status == KDL_OK)
    status = ir_context_check(context, job->request.path);
  if (status == KDL_OK) {
    LLVMMemoryBufferRef made = LLVMWriteBitcodeToMemoryBuffer(module);
    status =
        ld_held_file_write(job->request.output, LLVMGetBufferStart(made), LLVMGetBufferSize(made));
    LLVMDisposeMemoryBuffer(made);
  }
  if (module)
    LLVMDisposeModule(module);
  return status;
}

static kdl_status confine_and_run(const form_job *job) {
  const ir_request *request = &job->request;
  ld_confinement confinement;
  ir_context context;
  cli_bytes bytes;
  KDL_TRY(ld_confine(request, NULL, NULL, &confinement));
  KDL_TRY(cli_bytes_read(request->path, &bytes));
  ir_context_init(&context);
  kdl_status status =
      job->is_check ? check_image(job, &context, &bytes) : make_image(job, &context, &bytes);
  ir_context_free(&context);
  cli_bytes_free(&bytes);
  return status;
}

static int form_worker(void *user) {
  kdl_status status = confine_and_run(user);
  cli_report_status(status);
  return status == KDL_OK ? 0 : 1;
}

static kdl_status run_worker(form_job *job, int *out_code) {
  ld_held_file output = {.path = NULL};
  bool is_apart;
  KDL_TRY(ld_confine_wanted(&is_apart));
  kdl_status status = job->is_check ? KDL_OK : ld_held_file_make(&job->request.output, &output);
  if (status == KDL_OK)
    status = ld_worker_run(is_apart, form_worker, job, out_code);
  if (status == KDL_OK && *out_code == 0 && !job->is_check)
    status = ld_held_file_save(&output);
  ld_held_file_drop(&output);
  return status;
}

static kdl_status run(const cli_args *args, kdl_arena *arena, int *out_code) {
  form_job job = {.request = {.arena = arena,
                              .path = cli_args_value(args, "caller"),
                              .output = cli_args_value(args, "output")}};
  const char *kernel, *name = cli_args_value(args, "name");
  size_t cursor = 0;
  job.request.caller = name ? name : job.request.path;
  job.is_check = !job.request.output;
  job.needs = cli_args_value(args, "needs");
  job.kernels = xarena_alloc(arena, (args->setting_count + 1) * sizeof *job.kernels);
  while ((kernel = cli_args_next(args, "kernel", &cursor)))
    KDL_TRY(parse_kernel(arena, kernel, &job.kernels[job.count++]));
  if (!job.request.path)
    return kdl_fail(KDL_BAD_CALL, "missing option: use --caller");
  return run_worker(&job, out_code);
}

static int run_command(const cli_args *args) {
  kdl_arena arena = {.blocks = NULL};
  int code = 1;
  kdl_status status = run(args, &arena, &code);
  cli_report_status(status);
  kdl_arena_free(&arena);
  return status == KDL_OK ? code : 1;
}

static const cli_option options[] = {
    {"caller", 0, CLI_ONCE, "FILE", "the IR of kernels, as kdl cc makes it, or an image to check"},
    {"name", 0, CLI_ONCE, "TEXT", "what to call the image in messages; default: FILE"},
    {"kernel", 0, CLI_MANY, "NAME=X,Y,Z,X,Y,Z,N", "a kernel: its block, its tile, its bound"},
    {"needs", 0, CLI_ONCE, "TOKENS", "what the metadata of an image to check has as kdl.needs"},
    {"output", 'o', CLI_ONCE, "FILE", "where to write bitcode; without it, FILE is checked"},
    {.name = NULL},
};

const cli_command ld_portable_command = {
    .name = "kdl-ld --portable",
    .usage = "kdl-ld --portable --caller=FILE [--output=FILE --kernel=NAME=X,Y,Z,X,Y,Z,N...]",
    .summary = "makes portable bitcode of kernels, or checks it",
    .details = "Started by 'kdl cc' and 'kdl verify'.",
    .options = options,
    .max_operands = 0,
    .run = run_command,
};
