/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl-ld: links a caller's bitcode with microkernels into an image for one device. docs/linking.md
 * describes its interface. */
#include "compiler/ir/emit/emit.h"
#include "compiler/ir/linker/fold.h"
#include "compiler/ir/portable/form.h"
#include "compiler/ir/portable/lower.h"
#include "compiler/ir/spirv/spirv.h"
#include "ld/commands.h"
#include "ld/confine/confine.h"
#include "ld/confine/worker.h"
#include "ld/report.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "tools/common/command.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/program_folder.h"
#include "tools/common/report.h"

#include <llvm-c/ErrorHandling.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { exit_done = 0, exit_refused = 1 };

static void on_llvm_fatal_error(const char *reason) {
  fprintf(stderr, "kdl-ld: error: LLVM: %s\n", reason);
  _exit(exit_refused);
}

/* ------------------------------------------------------------------------------------------ */
/* The work                                                                                     */

/* Built-in microkernels that are missing now may be installed later: the result depends on that
 * too. */
static char *find_builtin(const ir_linker *linker, const char *file, char place[PATH_MAX]) {
  place[0] = '\0';
  if (!linker->request->has_builtin || !cli_program_file(file, place))
    return NULL;
  char *found = realpath(place, NULL);
  if (!found && errno == ENOMEM)
    cli_out_of_memory();
  if (!found)
    kdl_debug(KDL_DEBUG_LINK, "%s: there are no built-in microkernels", place);
  return found;
}

static void add_dependence(ir_linker *linker, const char *found, const char *place) {
  if (*place)
    xstring_list_append(&linker->depends, found ? found : place);
}

static kdl_status open_libraries(ir_linker *linker) {
  return ir_libraries_open(linker->request, linker->is_portable ? linker->portable : NULL,
                           linker->builtin, &linker->libraries);
}

/* Bitcode, or SPIR-V, which becomes portable bitcode. */
static kdl_status read_caller(ir_linker *linker, const cli_bytes *caller) {
  linker->is_portable = ir_spirv_is(caller->data, caller->size);
  if (linker->is_portable) {
    KDL_TRY(open_libraries(linker));
    return ir_spirv_read(linker, caller->data, caller->size);
  }
  KDL_TRY(ir_module_read(linker->context, caller->data, caller->size, linker->request->caller,
                         &linker->module));
  linker->is_portable = ir_form_is(linker->module);
  return open_libraries(linker);
}

static kdl_status link_modules(ir_linker *linker, cli_bytes *caller) {
  const ir_request *request = linker->request;
  ld_confinement confinement;
  char builtin[PATH_MAX], portable[PATH_MAX];
  linker->builtin = find_builtin(linker, LD_BUILTIN, builtin);
  linker->portable = find_builtin(linker, LD_PORTABLE, portable);
  add_dependence(linker, linker->builtin, builtin);
  /* Before this, nothing is read that the command line does not name. */
  KDL_TRY(ld_confine(request, linker->builtin, linker->portable, &confinement));
  KDL_TRY(cli_bytes_read(request->path, caller));
  KDL_TRY(ir_target_init(request, &linker->target));
  ir_stages_end(&linker->stages, IR_STAGE_START);
  KDL_TRY(read_caller(linker, caller));
  ir_stages_end(&linker->stages, IR_STAGE_PARSE);
  if (linker->is_portable) {
    add_dependence(linker, linker->portable, portable);
    KDL_TRY(ir_portable_lower(linker));
  }
  KDL_TRY(ir_target_admit(&linker->target, request, linker->module, request->caller));
  KDL_TRY(ir_link_strip_caller(linker));
  ir_stages_end(&linker->stages, IR_STAGE_LINK);
  xstring_list_append(&linker->depends, ld_version_library());
  ir_stages_end(&linker->stages, IR_STAGE_CHOOSE);
  KDL_TRY(ir_link(linker));
  if (request->emit != IR_EMIT_CHOICE)
    KDL_TRY(ir_link_finalize(linker));
  ir_stages_end(&linker->stages, IR_STAGE_LINK);
  return KDL_OK;
}

static kdl_status link_and_emit(ir_linker *linker, cli_bytes *caller, ir_output *output) {
  KDL_TRY(link_modules(linker, caller));
  if (linker->request->emit == IR_EMIT_CHOICE)
    return KDL_OK;
  KDL_TRY(ir_target_finish(&linker->target, linker->request));
  ir_stages_end(&linker->stages, IR_STAGE_START);
  ir_target_apply(&linker->target, linker->module);
  KDL_TRY(ir_fold(linker));
  KDL_TRY(ir_emit_optimise(linker));
  if (linker->is_portable)
    KDL_TRY(linker->target.family == KDL_FAMILY_SPIRV ? ir_spirv_finish(linker)
                                                      : ir_portable_add_conversions(linker));
  KDL_TRY(ir_emit_output(linker, output));
  KDL_TRY(ld_held_file_write(linker->request->output, output->data, output->size));
  ir_stages_end(&linker->stages, IR_STAGE_WRITE);
  return KDL_OK;
}

static void free_linker(ir_linker *linker) {
  free(linker->choices);
  ir_target_free(&linker->target);
  if (linker->module)
    LLVMDisposeModule(linker->module);
  ir_libraries_free(&linker->libraries);
  free(linker->builtin);
  free(linker->portable);
}

/* Writes the report, also after a refusal. */
static int write_link_report(const ir_linker *linker, const ir_output *output, kdl_status status) {
  char error[2048];
  size_t size;
  snprintf(error, sizeof error, "%s", status == KDL_OK ? "" : kdl_error_message());
  cli_report_status(status);
  if (linker->request->report) {
    bool has_output = status == KDL_OK && linker->request->emit != IR_EMIT_CHOICE;
    char *text =
        ld_report_make(linker, has_output ? output : NULL, status == KDL_OK ? NULL : error, &size);
    kdl_status reported = ld_held_file_write(linker->request->report, text, size);
    cli_report_status(reported);
    free(text);
    status = status == KDL_OK ? reported : status;
  }
  return status == KDL_OK ? exit_done : exit_refused;
}

typedef struct {
  ir_request request;
  ir_stages stages;
} link_job;

static int link_worker(void *user) {
  const link_job *job = user;
  kdl_arena *arena = job->request.arena;
  ir_context context;
  cli_bytes caller = {.data = NULL};
  ir_context_init(&context);
  ir_linker linker = {.request = &job->request,
                      .context = &context,
                      .stages = job->stages,
                      .kernels = {.arena = arena},
                      .undefined = {.arena = arena},
                      .depends = {.arena = arena}};
  ir_output output = {.kind = ""};
  int code = write_link_report(&linker, &output, link_and_emit(&linker, &caller, &output));
  free(output.data);
  free_linker(&linker);
  ir_context_free(&context);
  cli_bytes_free(&caller);
  return code;
}

/* The report is saved after a refusal too. */
static kdl_status run_link_worker(link_job *job, int *out_code) {
  ld_held_file output = {.path = NULL}, report = {.path = NULL};
  bool is_apart;
  KDL_TRY(ld_confine_wanted(&is_apart));
  kdl_status status = ld_held_file_make(&job->request.output, &output);
  if (status == KDL_OK)
    status = ld_held_file_make(&job->request.report, &report);
  if (status == KDL_OK)
    status = ld_worker_run(is_apart, link_worker, job, out_code);
  if (status == KDL_OK && *out_code == exit_done)
    status = ld_held_file_save(&output);
  if (status == KDL_OK)
    status = ld_held_file_save(&report);
  ld_held_file_drop(&output);
  ld_held_file_drop(&report);
  return status;
}

/* Ends with the parent, which no longer wants the image; one that died earlier is detected by its
 * ID. The parent sets limits from outside and then writes a byte: a process that is started before
 * that would not have them. */
static void wait_for_parent(const char *parent) {
  char start_byte;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!parent)
    return;
  if (strtol(parent, NULL, 10) != (long)getppid())
    _exit(exit_refused);
  while (read(STDIN_FILENO, &start_byte, 1) < 0 && errno == EINTR)
    continue;
}

static int run_link_command(const cli_args *args) {
  wait_for_parent(cli_args_value(args, "parent"));
  kdl_arena arena = {.blocks = NULL};
  link_job job = {.stages = {.since = ir_stages_now()}};
  int code = exit_refused;
  kdl_status status = ld_request_read(args, &arena, &job.request);
  if (status == KDL_OK)
    status = run_link_worker(&job, &code);
  cli_report_status(status);
  free(job.request.device);
  kdl_arena_free(&arena);
  return status == KDL_OK ? code : exit_refused;
}

static int rights_worker(void *user) {
  kdl_status status = ld_confine_print(user);
  cli_report_status(status);
  return status == KDL_OK ? exit_done : exit_refused;
}

static int run_rights(void) {
  char planted[] = "/tmp/kdl-ld-XXXXXX";
  bool is_apart;
  int code = exit_refused, fd = mkostemp(planted, O_CLOEXEC);
  kdl_status status = ld_confine_wanted(&is_apart);
  if (status == KDL_OK)
    status = ld_worker_run(is_apart, rights_worker, planted, &code);
  if (fd >= 0) {
    close(fd);
    unlink(planted);
  }
  cli_report_status(status);
  return status == KDL_OK ? code : exit_refused;
}

static const cli_option options[] = {
    {"protocol", 0, CLI_ONCE, "1", "what the caller of this program expects of it"},
    {"caller", 0, CLI_ONCE, "FILE", "the bitcode to complete"},
    {"name", 0, CLI_ONCE, "TEXT", "what to call the bitcode in messages; default: FILE"},
    {"for", 0, CLI_ONCE, "DEVICE", "the device to link for, as 'kdl devices' prints it"},
    {"kernel", 0, CLI_MANY, "NAME", "a kernel to keep; default: all"},
    {"ukernels", 0, CLI_MANY, "PATH", "a fat binary, bitcode file or folder with microkernels"},
    {"checked", 0, CLI_FLAG, NULL, "the caller has checked signatures: look at none"},
    {"no-builtin", 0, CLI_FLAG, NULL, "do without the built-in microkernels"},
    {"const", 0, CLI_MANY, "NAME=VALUE", "the value of a constant"},
    {"unused-constants", 0, CLI_ONCE, "error|ignore",
     "what to do with values that are not asked for"},
    {"fold", 0, CLI_MANY, "VALUE",
     "a value of all launches: block=XxYxZ, NUMBER=0xBITS of an argument, or NUMBER=alignBYTES"},
    {"emit", 0, CLI_ONCE, "KIND", "image (the default), ir, bitcode, asm, or choice: the report"},
    {"output", 'o', CLI_ONCE, "FILE", "where to write"},
    {"report", 0, CLI_ONCE, "FILE", "where to write what was done, as JSON"},
    {"parent", 0, CLI_ONCE, "PID", "the process that wants it, and with which this one ends"},
    {.name = NULL},
};

static const cli_command command = {
    .name = "kdl-ld",
    .usage = "kdl-ld --protocol=1 --caller=FILE --for=DEVICE --output=FILE [OPTION...]",
    .summary = "links bitcode with microkernels into an image for one device",
    .details = "Started by libkdl and by 'kdl link', which is what people use.",
    .options = options,
    .max_operands = 0,
    .run = run_link_command,
};

/* Parses the words after the command and runs it; returns the exit code. */
static int run_command(const cli_command *what, int count, char **words) {
  cli_args args;
  kdl_status status = cli_args_parse(what, count, words, &args);
  int code = status == KDL_OK ? exit_done : exit_refused;
  cli_report_status(status);
  if (status == KDL_OK && args.help)
    cli_command_help(what);
  else if (status == KDL_OK)
    code = what->run(&args);
  cli_args_free(&args);
  return code;
}

int main(int argc, char **argv) {
  cli_report_set_name("kdl-ld", NULL);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    char llvm[32], build[96];
    ld_version_llvm(llvm, sizeof llvm);
    ld_version_build(build, sizeof build);
    printf("kdl-ld %s LLVM %s build %s\n", kdl_version(), llvm, build);
    return exit_done;
  }
  ld_confine_limits();
  if (argc > 1 && strcmp(argv[1], "--rights") == 0) {
    static const char parent[] = "--parent=";
    bool is_given = argc > 2 && kdl_starts_with(argv[2], parent);
    wait_for_parent(is_given ? argv[2] + sizeof parent - 1 : NULL);
    return run_rights();
  }
  LLVMInstallFatalErrorHandler(on_llvm_fatal_error);
  if (argc > 1 && strcmp(argv[1], "--groups") == 0)
    return run_command(&ld_groups_command, argc - 2, argv + 2);
  if (argc > 1 && strcmp(argv[1], "--portable") == 0)
    return run_command(&ld_portable_command, argc - 2, argv + 2);
  return run_command(&command, argc - 1, argv + 1);
}
