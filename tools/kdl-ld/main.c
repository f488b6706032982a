/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl-ld: links a caller's bitcode with microkernels into an image for one device. docs/linking.md
 * describes what it promises to those who start it. */
#include "base/error.h"
#include "base/text.h"
#include "cli/beside.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"
#include "confine/confine.h"
#include "confine/held_file.h"
#include "confine/worker.h"
#include "emit/emit.h"
#include "groups/groups.h"
#include "system/environment.h"
#include "version.h"
#include "write_report.h"

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

static void give_up(const char *reason) {
  fprintf(stderr, "kdl-ld: error: LLVM: %s\n", reason);
  _exit(exit_refused);
}

/* ------------------------------------------------------------------------------------------ */
/* The work                                                                                     */

/* Built-in microkernels that are not there may be there later: the result depends on that too.
 */
static kdl_status find_builtin(ld_linker *linker) {
  char place[PATH_MAX];
  if (!linker->request->has_builtin || !cli_beside(LD_BUILTIN, place))
    return KDL_OK;
  linker->builtin = realpath(place, NULL);
  if (!linker->builtin && errno == ENOMEM)
    return kdl_fail(KDL_NO_MEMORY, "out of memory for the path of the built-in microkernels");
  if (!linker->builtin)
    kdl_debug(KDL_DEBUG_LINK, "%s: there are no built-in microkernels", place);
  return ld_words_add(&linker->depends, linker->builtin ? linker->builtin : place);
}

static kdl_status open_libraries(ld_linker *linker) {
  const ld_request *request = linker->request;
  return ld_libraries_open(request->libraries.items, request->libraries.count, linker->builtin,
                           &request->device, &linker->libraries);
}

/* Nothing that this program was not told of by its command line is read before. */
static kdl_status confine(ld_linker *linker) {
  ld_confinement confinement;
  kdl_status status = find_builtin(linker);
  return status == KDL_OK ? ld_confine(linker->request, linker->builtin, &confinement) : status;
}

static kdl_status link_and_emit(ld_linker *linker, cli_bytes *caller, ld_output *output) {
  const ld_request *request = linker->request;
  kdl_status status = confine(linker);
  if (status == KDL_OK)
    status = cli_bytes_read(request->path, caller);
  if (status == KDL_OK)
    status = ld_target_init(request, &linker->target);
  ld_stages_count(&linker->stages, LD_STAGE_START);
  if (status == KDL_OK)
    status = ld_module_read(linker->context, caller->data, caller->size, request->caller,
                            &linker->module);
  ld_stages_count(&linker->stages, LD_STAGE_PARSE);
  if (status == KDL_OK)
    status = ld_target_admit(&linker->target, request, linker->module, request->caller);
  if (status == KDL_OK)
    status = ld_link_keep(linker);
  ld_stages_count(&linker->stages, LD_STAGE_LINK);
  if (status == KDL_OK)
    status = ld_words_add(&linker->depends, ld_version_library());
  if (status == KDL_OK)
    status = open_libraries(linker);
  ld_stages_count(&linker->stages, LD_STAGE_CHOOSE);
  if (status == KDL_OK)
    status = ld_link(linker);
  if (status == KDL_OK && request->emit != LD_EMIT_CHOICE)
    status = ld_link_close(linker);
  ld_stages_count(&linker->stages, LD_STAGE_LINK);
  if (status != KDL_OK || request->emit == LD_EMIT_CHOICE)
    return status;
  status = ld_target_finish(&linker->target, request);
  ld_stages_count(&linker->stages, LD_STAGE_START);
  if (status != KDL_OK)
    return status;
  ld_target_apply(&linker->target, linker->module);
  status = ld_emit_optimise(linker);
  if (status == KDL_OK)
    status = ld_emit_output(linker, output);
  if (status == KDL_OK)
    status = ld_held_file_write(request->output, output->data, output->size);
  ld_stages_count(&linker->stages, LD_STAGE_WRITE);
  return status;
}

static kdl_status write_report(const ld_linker *linker, const ld_output *output,
                               const char *error) {
  char *text = NULL;
  size_t size;
  kdl_status status = ld_report_make(linker, output, error, &text, &size);
  if (status == KDL_OK)
    status = ld_held_file_write(linker->request->report, text, size);
  free(text);
  return status;
}

static void free_linker(ld_linker *linker) {
  free(linker->constants.items);
  free(linker->choices);
  ld_words_free(&linker->kernels);
  ld_words_free(&linker->undefined);
  ld_words_free(&linker->depends);
  ld_target_free(&linker->target);
  if (linker->module)
    LLVMDisposeModule(linker->module);
  ld_libraries_free(&linker->libraries);
  free(linker->builtin);
}

static int finish(const ld_linker *linker, const ld_output *output, kdl_status status) {
  char error[2048] = "";
  if (status != KDL_OK)
    snprintf(error, sizeof error, "%s", kdl_error_message());
  cli_finish(status);
  if (!linker->request->report)
    return status == KDL_OK ? exit_done : exit_refused;
  bool has_output = status == KDL_OK && linker->request->emit != LD_EMIT_CHOICE;
  kdl_status reported =
      write_report(linker, has_output ? output : NULL, status == KDL_OK ? NULL : error);
  cli_finish(reported);
  return status == KDL_OK && reported == KDL_OK ? exit_done : exit_refused;
}

typedef struct {
  ld_request request;
  ld_stages stages;
} job;

static int work(void *user) {
  const job *of = user;
  ld_context context;
  cli_bytes caller = {.data = NULL};
  ld_context_init(&context);
  ld_linker linker = {.request = &of->request, .context = &context, .stages = of->stages};
  ld_output output = {.kind = ""};
  int code = finish(&linker, &output, link_and_emit(&linker, &caller, &output));
  free(output.data);
  free_linker(&linker);
  ld_context_free(&context);
  cli_bytes_free(&caller);
  return code;
}

/* A report is there after a refusal too. */
static kdl_status work_apart(job *of, int *out_code) {
  ld_held_file output = {.path = NULL}, report = {.path = NULL};
  bool is_apart;
  kdl_status status = ld_confine_wanted(&is_apart);
  if (status == KDL_OK)
    status = ld_held_file_make(&of->request.output, &output);
  if (status == KDL_OK)
    status = ld_held_file_make(&of->request.report, &report);
  if (status == KDL_OK)
    status = ld_worker_run(is_apart, work, of, out_code);
  if (status == KDL_OK && *out_code == exit_done)
    status = ld_held_file_save(&output);
  if (status == KDL_OK)
    status = ld_held_file_save(&report);
  ld_held_file_drop(&output);
  ld_held_file_drop(&report);
  return status;
}

static int run(const cli_args *args) {
  job of = {.stages = {.since = ld_stages_now()}};
  int code = exit_refused;
  kdl_status status = ld_request_read(args, &of.request);
  if (status == KDL_OK)
    status = work_apart(&of, &code);
  cli_finish(status);
  ld_request_free(&of.request);
  return status == KDL_OK ? code : exit_refused;
}

static int show_rights(void *user) {
  kdl_status status = ld_confine_print(user);
  cli_finish(status);
  return status == KDL_OK ? exit_done : exit_refused;
}

static int rights(void) {
  char planted[] = "/tmp/kdl-ld-XXXXXX";
  bool is_apart;
  int code = exit_refused, fd = mkostemp(planted, O_CLOEXEC);
  kdl_status status = ld_confine_wanted(&is_apart);
  if (status == KDL_OK)
    status = ld_worker_run(is_apart, show_rights, planted, &code);
  if (fd >= 0) {
    close(fd);
    unlink(planted);
  }
  cli_finish(status);
  return status == KDL_OK ? code : exit_refused;
}

/* The image is no longer wanted when the parent has died; one that died before that was said sends
 * nothing. It sets limits, which a process that is started before they are set would not have, and
 * then writes a byte. */
static void begin_for_parent(const char *parent) {
  char told;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!parent)
    return;
  if (strtol(parent, NULL, 10) != (long)getppid())
    _exit(exit_refused);
  while (read(STDIN_FILENO, &told, 1) < 0 && errno == EINTR)
    continue;
}

static const cli_option options[] = {
    {"protocol", 0, CLI_ONCE, "1", "what the caller of this program expects of it"},
    {"caller", 0, CLI_ONCE, "FILE", "the bitcode to complete"},
    {"name", 0, CLI_ONCE, "TEXT", "what to call the bitcode in messages; default: FILE"},
    {"for", 0, CLI_ONCE, "DEVICE", "the device to link for, as 'kdl devices' prints it"},
    {"kernel", 0, CLI_MANY, "NAME", "a kernel to keep; default: all"},
    {"ukernels", 0, CLI_MANY, "PATH", "a fat binary, bitcode file or folder with microkernels"},
    {"checked", 0, CLI_FLAG, NULL, "signatures were checked by who calls: look at none"},
    {"no-builtin", 0, CLI_FLAG, NULL, "do without the built-in microkernels"},
    {"const", 0, CLI_MANY, "NAME=VALUE", "the value of a constant"},
    {"unused-constants", 0, CLI_ONCE, "error|ignore",
     "what to do with values that are not asked for"},
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
    .run = run,
};

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
    begin_for_parent(is_given ? argv[2] + sizeof parent - 1 : NULL);
    return rights();
  }
  LLVMInstallFatalErrorHandler(give_up);
  if (argc > 1 && strcmp(argv[1], "--groups") == 0)
    return ld_groups_command(argc - 2, argv + 2);
  cli_args args;
  kdl_status status = cli_args_parse(&command, argc - 1, argv + 1, &args);
  int code = exit_done;
  if (status != KDL_OK) {
    cli_finish(status);
    code = exit_refused;
  } else if (args.help) {
    cli_command_help(&command);
  } else {
    begin_for_parent(cli_args_value(&args, "parent"));
    code = run(&args);
  }
  cli_args_free(&args);
  return code;
}
