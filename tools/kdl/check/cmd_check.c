/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl check: what of the libraries below some paths runs on a device. */
#include "base/error.h"
#include "check/check.h"
#include "cli/report.h"
#include "commands.h"
#include "system/environment.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static kdl_status list_devices(const cli_args *args, cli_devices *out_devices) {
  if (cli_args_has(args, "device"))
    return cli_devices_given(args, "device", '\0', out_devices);
  const char *set = kdl_environment("KDL_DEVICE");
  return set ? cli_devices_one(set, out_devices) : cli_devices_here(out_devices);
}

static kdl_status list_operands(const cli_args *args, check *c) {
  c->operands = calloc(args->operand_count + 1, sizeof *c->operands);
  for (size_t i = 0; c->operands && i < args->operand_count; ++i) {
    char real[PATH_MAX];
    const char *shown = args->operands[i];
    c->operands[i].shown = shown;
    if (realpath(shown, real))
      c->operands[i].real = check_keep(c, real, strlen(real));
  }
  c->operand_count = args->operand_count;
  return c->operands && !c->out_of_memory
             ? KDL_OK
             : kdl_fail(KDL_NO_MEMORY, "out of memory for %zu paths", args->operand_count);
}

static int compare_texts(const char *a, const char *b) {
  if (!a || !b)
    return !b - !a;
  return strcmp(a, b);
}

/* By package; those without one last. */
static int compare_libraries(const void *left, const void *right) {
  const check_library *a = left;
  const check_library *b = right;
  int order = compare_texts(a->package, b->package);
  if (!a->package != !b->package)
    order = a->package ? -1 : 1;
  if (!order)
    order = strcmp(a->path, b->path);
  return order ? order : compare_texts(a->member, b->member);
}

static int compare_troubles(const void *left, const void *right) {
  const check_trouble *a = left;
  const check_trouble *b = right;
  int order = strcmp(a->path, b->path);
  return order ? order : strcmp(a->message, b->message);
}

static bool are_siblings(const check_library *a, const check_library *b) {
  if (a->package || b->package)
    return a->package && b->package && strcmp(a->package, b->package) == 0;
  return a->member && b->member && strcmp(a->path, b->path) == 0;
}

/* The libraries are in order: those of a package, and those of an archive, follow one another. */
static void find_siblings(check *c) {
  for (size_t from = 0, to; from < c->library_count; from = to) {
    bool found = false;
    for (to = from; to < c->library_count &&
                    (to == from || are_siblings(&c->libraries[from], &c->libraries[to]));
         ++to)
      found |= check_is_for(c, &c->libraries[to]);
    for (size_t i = from; i < to; ++i)
      c->libraries[i].has_sibling = found;
  }
}

static bool any_fails(const check *c) {
  for (size_t i = 0; i < c->library_count; ++i) {
    for (size_t device = 0; device < c->devices.count; ++device) {
      if (check_fails(c, &c->libraries[i], device))
        return true;
    }
  }
  return false;
}

static int run(const cli_args *args, check *c) {
  bool failed;
  kdl_status status = cli_choose_opts(args, &c->opts);
  if (status == KDL_OK)
    status = list_devices(args, &c->devices);
  if (status == KDL_OK && cli_args_has(args, "demangle"))
    status = cli_demangler_start(&c->demangler);
  if (status == KDL_OK)
    status = list_operands(args, c);
  if (status == KDL_OK)
    status = check_walk(c, &failed);
  if (status != KDL_OK)
    return cli_finish(status);
  check_find_packages(c);
  if (c->library_count)
    qsort(c->libraries, c->library_count, sizeof *c->libraries, compare_libraries);
  find_siblings(c);
  if (c->trouble_count)
    qsort(c->troubles, c->trouble_count, sizeof *c->troubles, compare_troubles);
  status = cli_args_has(args, "json") ? check_print_json(c) : check_print_text(c);
  if (status != KDL_OK)
    return cli_finish(status);
  if (any_fails(c))
    return CLI_EXIT_NO_MATCH;
  return failed || c->was_changed ? CLI_EXIT_BAD_FILE : CLI_EXIT_FINE;
}

int cli_run_check(const cli_args *args) {
  check c = {.all_names = cli_args_has(args, "kernels"), .lock = PTHREAD_MUTEX_INITIALIZER};
  int code = run(args, &c);
  cli_demangler_stop(c.demangler);
  cli_devices_free(&c.devices);
  free(c.operands);
  free(c.libraries);
  free(c.troubles);
  free(c.records);
  kdl_arena_free(&c.arena);
  return code;
}
