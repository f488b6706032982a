/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl check: which parts of the libraries below some paths run on a device. */
#include "pack/check/check.h"
#include "pack/commands.h"
#include "support/base/error.h"
#include "support/system/environment.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kdl_status parse_check_devices(const cli_args *args, cli_devices *out_devices) {
  if (cli_args_has(args, "device"))
    return cli_devices_given(args, "device", '\0', out_devices);
  const char *set = kdl_environment(KDL_VARIABLE_DEVICE);
  if (set)
    return cli_devices_parse(set, out_devices);
  cli_devices_native(out_devices);
  return KDL_OK;
}

static void list_operands(const cli_args *args, check *c) {
  c->operands = xcalloc(args->plain_count + 1, sizeof *c->operands);
  c->operand_count = args->plain_count;
  for (size_t i = 0; i < args->plain_count; ++i) {
    char real[PATH_MAX];
    const char *shown = args->operands[i];
    c->operands[i] =
        (check_operand){shown, realpath(shown, real) ? check_copy_string(c, real) : NULL};
  }
  /* for mapped files, which are below no operand */
  c->operands[c->operand_count] = (check_operand){"", c->mapped_root};
}

static int compare_optional_texts(const char *a, const char *b) {
  if (!a || !b)
    return !b - !a;
  return strcmp(a, b);
}

/* By package; those without one last. */
static int compare_library_order(const void *left, const void *right) {
  const check_library *a = left;
  const check_library *b = right;
  int order = compare_optional_texts(a->package, b->package);
  if (!a->package != !b->package)
    order = a->package ? -1 : 1;
  if (!order)
    order = strcmp(a->path, b->path);
  return order ? order : compare_optional_texts(a->member, b->member);
}

static int compare_errors(const void *left, const void *right) {
  const check_error *a = left;
  const check_error *b = right;
  int order = strcmp(a->path, b->path);
  return order ? order : strcmp(a->message, b->message);
}

/* Whether a device is one that some library is for, whether that runs or not. */
static void find_targeted_devices(check *c) {
  c->is_targeted = check_alloc(c, c->devices.count + 1);
  for (size_t device = 0; device < c->devices.count; ++device) {
    c->is_targeted[device] = false;
    for (size_t i = 0; i < c->library_count && !c->is_targeted[device]; ++i) {
      const check_verdict *verdict = &c->libraries[i].verdicts[device];
      c->is_targeted[device] = verdict->outcome != CHECK_OTHER_VENDOR &&
                               (verdict->coverage.kernels || verdict->coverage.unreadable);
    }
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Processes                                                                                    */

static kdl_status read_processes(const cli_args *args, check *c) {
  size_t cursor = 0;
  const char *number;
  c->mapped_root = "";
  while ((number = cli_args_next(args, "process", &cursor))) {
    KDL_TRY(check_read_process(c, number));
    if (c->has_other_root && !*c->mapped_root)
      c->mapped_root = xarena_format(&c->arena, "/proc/%s/root", number);
  }
  return KDL_OK;
}

static bool has_program(const cli_args *args) {
  return args->operand_count > args->plain_count;
}

/* ------------------------------------------------------------------------------------------ */

static kdl_status find_libraries(const cli_args *args, check *c, bool *out_failed) {
  if (cli_args_has(args, "demangle"))
    KDL_TRY(cli_demangler_start(&c->demangler));
  list_operands(args, c);
  if (!c->as_json)
    cli_progress_begin("checking", STDERR_FILENO);
  check_walk(c, out_failed);
  cli_progress_end();
  check_find_packages(c);
  if (c->library_count)
    qsort(c->libraries, c->library_count, sizeof *c->libraries, compare_library_order);
  find_targeted_devices(c);
  check_mark_covered_by_siblings(c);
  check_assign_groups(c);
  check_choose_alternatives(c);
  check_mark_running_packages(c);
  if (c->error_count)
    qsort(c->errors, c->error_count, sizeof *c->errors, compare_errors);
  return KDL_OK;
}

static kdl_status print_result(void *user) {
  check *c = user;
  return c->as_json ? check_print_json(c) : check_print_text(c);
}

/* With a program, standard output belongs to it: the report goes to standard error, or a file. */
static kdl_status print_to_output(const cli_args *args, check *c) {
  const char *path = cli_args_value(args, "output");
  if (path && strcmp(path, "-") != 0)
    return cli_output_capture(path, print_result, c);
  if (!path && has_program(args) && (fflush(stdout) != 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0))
    return kdl_fail(kdl_status_from_errno(errno), "<stdout>: cannot write: %s", strerror(errno));
  return print_result(c);
}

static kdl_status read_check_options(const cli_args *args, check *c) {
  if (!args->operand_count && !cli_args_has(args, "process"))
    return kdl_fail(KDL_BAD_CALL,
                    "missing operand: use PATH..., --process=PID or -- PROGRAM [ARG...]");
  KDL_TRY(cli_selection_options(args, &c->opts));
  if (c->only)
    KDL_TRY(cli_kernel_list_read(cli_args_value(args, "only"), c->only));
  KDL_TRY(parse_check_devices(args, &c->devices));
  KDL_TRY(cli_devices_named(&c->typical));
  KDL_TRY(cli_devices_for_other_runtimes(&c->devices, &c->foreign_devices));
  KDL_TRY(cli_devices_for_other_runtimes(&c->typical, &c->foreign_typical));
  return read_processes(args, c);
}

static kdl_status run_check(const cli_args *args, check *c, int *out_code) {
  bool failed = false;
  KDL_TRY(read_check_options(args, c));
  cli_output_protect(args->operands, args->plain_count);
  if (cli_args_has(args, "output"))
    KDL_TRY(cli_output_check(cli_args_value(args, "output")));
  if (has_program(args))
    KDL_TRY(check_run_program(c, args->operands + args->plain_count, out_code));
  int code = *out_code;
  *out_code = CLI_EXIT_SUCCESS;
  if (c->is_denied)
    cli_warning("the program or one of its children must not be looked at: it has other rights");
  KDL_TRY(find_libraries(args, c, &failed));
  KDL_TRY(print_to_output(args, c));
  if (c->only)
    cli_kernel_list_warn(c->only, "no file that was read", c->all_names);
  *out_code = code                         ? code
              : check_any_fails(c)         ? CLI_EXIT_NO_MATCH
              : failed || c->is_incomplete ? CLI_EXIT_BAD_INPUT
                                           : CLI_EXIT_SUCCESS;
  return KDL_OK;
}

int cli_run_check(const cli_args *args) {
  check c = {.all_names = cli_args_has(args, "kernels"),
             .as_json = cli_args_has(args, "json"),
             .allows_partly = cli_args_has(args, "allow-partly"),
             .is_verbose = cli_args_has(args, "verbose") || cli_args_has(args, "kernels"),
             .lock = PTHREAD_MUTEX_INITIALIZER};
  cli_kernel_list only = {.count = 0};
  c.only = cli_args_has(args, "only") ? &only : NULL;
  int code = CLI_EXIT_SUCCESS;
  kdl_status status = run_check(args, &c, &code);
  if (status != KDL_OK) {
    int failure = cli_report_status(status);
    code = code ? code : failure; /* that of a program that cannot be run */
  }
  cli_kernel_list_free(&only);
  cli_demangler_stop(c.demangler);
  cli_devices_free(&c.devices);
  cli_devices_free(&c.typical);
  cli_devices_free(&c.foreign_devices);
  cli_devices_free(&c.foreign_typical);
  free(c.operands);
  free(c.libraries);
  free(c.errors);
  free(c.dist_infos);
  check_free_mapped(&c);
  kdl_arena_free(&c.arena);
  return code;
}
