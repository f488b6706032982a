/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl diff: what changed of the kernels in two files, packages or folders. */
#include "pack/commands.h"
#include "pack/diff/diff.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kdl_status parse_changes(kdl_string list, uint32_t *changes) {
  for (size_t at = 0; at <= list.length;) {
    size_t end = kdl_text_find(list, at, ",");
    kdl_string name = {list.data + at, end - at};
    diff_change change;
    if (kdl_text_is(name, "any"))
      *changes |= DIFF_BIT(DIFF_CHANGES) - 1;
    else if (diff_change_parse(name, &change))
      *changes |= DIFF_BIT(change);
    else
      return kdl_fail(KDL_BAD_CALL,
                      "--fail-on: found \"%.*s\", expected removed, lost, hollow, spills, stack, "
                      "registers, shared, signature, size, code, renamed, moved, gained, added or "
                      "any",
                      (int)name.length, name.data);
    at = end + 1;
  }
  return KDL_OK;
}

static kdl_status parse_options(const cli_args *args, diff *d) {
  size_t cursor = 0;
  const char *list;
  if (cli_args_has(args, "json") && cli_args_has(args, "markdown"))
    return kdl_fail(KDL_BAD_CALL, "--json and --markdown exclude each other");
  while ((list = cli_args_next(args, "fail-on", &cursor)))
    KDL_TRY(parse_changes(kdl_text_of(list), &d->fail_on));
  if (cli_args_has(args, "budget"))
    KDL_TRY(diff_budget_read(cli_args_value(args, "budget"), &d->budget));
  if (cli_args_has(args, "demangle"))
    KDL_TRY(cli_demangler_start(&d->demangler));
  KDL_TRY(cli_selection_options(args, &d->walk.opts));
  if (cli_args_has(args, "device"))
    KDL_TRY(cli_devices_given(args, "device", '\0', &d->walk.devices));
  KDL_TRY(cli_devices_for_other_runtimes(&d->walk.devices, &d->walk.foreign_devices));
  if (d->walk.devices.count > DIFF_LIMIT_DEVICES)
    return kdl_fail(KDL_BAD_CALL, "--device: found %zu devices, expected at most %d",
                    d->walk.devices.count, DIFF_LIMIT_DEVICES);
  return KDL_OK;
}

static int compare_walk_errors(const void *left, const void *right) {
  const check_error *a = left, *b = right;
  int order = strcmp(a->path, b->path);
  return order ? order : strcmp(a->message, b->message);
}

static void read_sides(const cli_args *args, diff *d, bool *out_failed) {
  check_operand operands[DIFF_SIDES];
  for (int side = 0; side < DIFF_SIDES; ++side) {
    operands[side] = (check_operand){args->operands[side], NULL};
    d->sides[side].path = args->operands[side];
  }
  d->walk.operands = operands;
  d->walk.operand_count = DIFF_SIDES;
  d->walk.visit = diff_read_library;
  d->walk.visit_user = d;
  if (!d->walk.as_json)
    cli_progress_begin("comparing", STDERR_FILENO);
  check_walk(&d->walk, out_failed);
  cli_progress_end();
  d->walk.operands = NULL;
  if (d->walk.error_count)
    qsort(d->walk.errors, d->walk.error_count, sizeof *d->walk.errors, compare_walk_errors);
}

/* An error where a side itself, rather than a file in it, cannot be read. */
static kdl_status expect_readable_sides(const diff *d) {
  for (int side = 0; side < DIFF_SIDES; ++side) {
    const char *path = d->sides[side].path;
    for (size_t i = 0; i < d->walk.error_count && !d->sides[side].library_count; ++i) {
      const check_error *error = &d->walk.errors[i];
      if (strcmp(error->path, path) != 0)
        continue;
      return kdl_starts_with(error->message, path)
                 ? kdl_fail(KDL_BAD_FILE, "%s", error->message)
                 : kdl_fail(KDL_BAD_FILE, "%s: %s", path, error->message);
    }
  }
  return KDL_OK;
}

typedef struct {
  diff *d;
  kdl_status (*print)(diff *d);
} report;

static kdl_status print_report(void *user) {
  const report *r = user;
  return r->print(r->d);
}

static kdl_status print_to_output(const cli_args *args, diff *d) {
  const char *path = cli_args_value(args, "output");
  report r = {d, cli_args_has(args, "json")       ? diff_print_json
                 : cli_args_has(args, "markdown") ? diff_print_markdown
                                                  : diff_print_text};
  return path && strcmp(path, "-") != 0 ? cli_output_capture(path, print_report, &r)
                                        : print_report(&r);
}

static kdl_status run_diff(const cli_args *args, diff *d, int *out_code) {
  bool failed = false;
  KDL_TRY(parse_options(args, d));
  cli_output_protect(args->operands, args->operand_count);
  if (cli_args_has(args, "output"))
    KDL_TRY(cli_output_check(cli_args_value(args, "output")));
  read_sides(args, d, &failed);
  KDL_TRY(expect_readable_sides(d));
  for (int side = 0; side < DIFF_SIDES && !failed && !d->walk.is_incomplete; ++side) {
    if (!d->sides[side].library_count && !d->sides[!side].library_count)
      return kdl_fail(KDL_BAD_FILE, "%s: found no device code in it or in %s, expected some",
                      d->sides[side].path, d->sides[!side].path);
  }
  diff_match_libraries(d);
  diff_match_kernels(d);
  diff_compare(d);
  diff_budget_apply(d);
  diff_compare_bytes(d);
  KDL_TRY(print_to_output(args, d));
  *out_code = failed || d->walk.is_incomplete            ? CLI_EXIT_BAD_INPUT
              : diff_failures(d) || d->excess_count != 0 ? CLI_EXIT_NO_MATCH
                                                         : CLI_EXIT_SUCCESS;
  return KDL_OK;
}

static void free_diff(diff *d) {
  for (int side = 0; side < DIFF_SIDES; ++side) {
    for (size_t i = 0; i < d->sides[side].library_count; ++i)
      free(d->sides[side].libraries[i].kernels);
    free(d->sides[side].libraries);
    free(d->sides[side].kernels);
  }
  cli_demangler_stop(d->demangler);
  diff_budget_free(d->budget);
  diff_names_free(&d->names);
  free(d->targets);
  free(d->renames);
  free(d->counts);
  free(d->kernels);
  free(d->equal);
  free(d->is_compared);
  free(d->excesses);
  free(d->bytes.lines);
  cli_devices_free(&d->walk.devices);
  cli_devices_free(&d->walk.foreign_devices);
  free(d->walk.libraries);
  free(d->walk.errors);
  free(d->walk.dist_infos);
  kdl_arena_free(&d->walk.arena);
  free(d);
}

int cli_run_diff(const cli_args *args) {
  diff *d = xcalloc(1, sizeof *d);
  d->walk.as_json = cli_args_has(args, "json");
  d->is_long = cli_args_has(args, "long");
  pthread_mutex_init(&d->walk.lock, NULL);
  pthread_mutex_init(&d->lock, NULL);
  int code = CLI_EXIT_SUCCESS;
  kdl_status status = run_diff(args, d, &code);
  if (status != KDL_OK)
    code = cli_report_status(status);
  free_diff(d);
  return code;
}
