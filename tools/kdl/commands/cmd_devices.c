/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl devices: the devices of this machine, and why drivers show no more. */
#include "lib/inspect/devices.h"
#include "lib/inspect/selection.h"
#include "lib/inspect/targets.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "tools/common/json.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On a narrow terminal the last two columns are printed below the device. Names are cut last. */
static const cli_column columns[] = {
    {.title = "#", .right = true},
    {.title = "NAME", .shrinks = 1},
    {.title = "BACKEND"},
    {.title = "ARCH", .shrinks = 2, .tint = "36"},
    {.title = "MEMORY", .right = true},
    {.title = "DRIVER"},
    {.title = "FEATURES"},
};
enum { column_count = sizeof columns / sizeof *columns, narrow_count = column_count - 2 };

/* ------------------------------------------------------------------------------------------ */
/* Cells                                                                                        */

/* Three digits in the usual unit. */
static void add_memory(cli_table *table, uint64_t bytes) {
  char size[32] = "";
  if (bytes)
    snprintf(size, sizeof size, bytes < (uint64_t)10 << 30 ? "%.1f GiB" : "%.0f GiB",
             (double)bytes / (1 << 30));
  cli_table_add(table, kdl_text_of(size));
}

/* The length of the base of an arch: a CPU's features after '+' have their own column; an AMD GPU's
 * two flags are printed below where there is no room. */
static size_t arch_base(const kdl_device_spec *spec, bool narrow) {
  bool is_host = spec->backend == KDL_BACKEND_HOST;
  return strcspn(spec->arch, is_host ? "+" : narrow ? ":" : "");
}

/* An IP version is shown with its product. */
static void add_arch(cli_table *table, const kdl_device_spec *spec, bool narrow) {
  char arch[64];
  kdl_out out = {arch, sizeof arch, 0};
  if (kdl_device_spec_family(spec) != KDL_FAMILY_INTEL ||
      !kdl_out_intel(&out, kdl_text_of(spec->arch)))
    kdl_out_format(&out, "%.*s", (int)arch_base(spec, narrow), spec->arch);
  cli_table_add(table, (kdl_string){arch, out.used});
}

/* For a CPU, the features beyond its level; for a GPU, all that are known. */
static void list_features(const kdl_device_spec *spec, kdl_out *out) {
  if (spec->backend == KDL_BACKEND_HOST) {
    const char *plus = strchr(spec->arch, '+');
    kdl_out_format(out, "%s", plus ? plus + 1 : "");
    return;
  }
  kdl_select_device *described;
  kdl_device_traits traits;
  kdl_status status = kdl_select_device_create(spec, &described, &traits);
  if (status == KDL_NO_MEMORY)
    cli_out_of_memory();
  if (status != KDL_OK)
    return;
  kdl_out_features(out, kdl_families[traits.family].features,
                   (kdl_feature_set){{~traits.lacks[0], ~traits.lacks[1]}});
  free(described);
}

/* Words that a terminal can break between: "13.0, features fp16 bf16". */
static void add_below(cli_table *table, const kdl_device_spec *spec) {
  char list[KDL_SPEC_LINE] = "";
  char line[2 * KDL_SPEC_LINE];
  char flags[64] = "";
  list_features(spec, &(kdl_out){list, sizeof list, 0});
  for (char *at = list; *at; ++at)
    *at = *at == '+' ? ' ' : *at;
  if (kdl_device_spec_family(spec) == KDL_FAMILY_AMDGCN)
    snprintf(flags, sizeof flags, "%s", spec->arch + arch_base(spec, true));
  for (char *at = flags; (at = strchr(at, ':'));)
    *at = ' ';
  kdl_out out = {line, sizeof line, 0};
  if (spec->driver[0])
    kdl_out_format(&out, "%s%s", spec->driver, list[0] || flags[0] ? ", features " : "");
  kdl_out_format(&out, "%s%s%s", flags[0] ? flags + 1 : "", flags[0] && list[0] ? " " : "", list);
  if (out.used)
    cli_table_add_line(table, spec->driver[0] ? "driver" : "features",
                       (kdl_string){line, out.used});
}

static void add_driver_and_features(cli_table *table, const kdl_device_spec *spec, bool all) {
  char list[KDL_SPEC_LINE] = "";
  list_features(spec, &(kdl_out){list, sizeof list, 0});
  char room[KDL_TEXT_SHORT + 1];
  cli_table_add(table, kdl_text_of(spec->driver));
  cli_table_add(table, all ? kdl_text_of(list) : kdl_text_short(kdl_text_of(list), room));
}

static void add_line(cli_table *table, const char *label, const kdl_device_spec *spec) {
  char line[KDL_SPEC_LINE];
  kdl_out out = {line, sizeof line, 0};
  kdl_device_spec_print(spec, &out);
  cli_table_add_line(table, label, (kdl_string){line, out.used});
}

/* ------------------------------------------------------------------------------------------ */
/* Tables                                                                                       */

typedef struct {
  bool narrow;
  bool all;
} layout;

static void add_device_row(cli_table *table, size_t index, const kdl_device_spec *routes,
                           size_t count, const layout *form) {
  cli_table_add_number(table, index);
  cli_table_add(table, kdl_text_of(routes[0].name));
  cli_table_add(table, kdl_text_of(kdl_backend_name(routes[0].backend)));
  add_arch(table, &routes[0], form->narrow);
  add_memory(table, routes[0].memory);
  if (form->narrow)
    add_below(table, &routes[0]);
  else
    add_driver_and_features(table, &routes[0], form->all);
  if (routes[0].os_off[0])
    cli_table_add_line(table, "not enabled by the system:", kdl_text_of(routes[0].os_off));
  if (form->all)
    add_line(table, "spec", &routes[0]);
  for (size_t i = 1; i < count; ++i) {
    if (form->all)
      add_line(table, "also", &routes[i]);
    else
      cli_table_add_line(table, "also", kdl_text_of(kdl_backend_name(routes[i].backend)));
  }
}

static cli_table *make_table(const kdl_discovery *found, const layout *form) {
  cli_table *table = cli_table_create(columns, form->narrow ? narrow_count : column_count);
  for (size_t i = 0; i < found->device_count; ++i) {
    const kdl_found_device *device = &found->devices[i];
    add_device_row(table, i, &found->routes[device->first], device->count, form);
  }
  return table;
}

static kdl_status print_device_table(const kdl_discovery *found, bool all) {
  cli_table *table = make_table(found, &(layout){.all = all});
  size_t limit = cli_terminal_width();
  if (limit && cli_table_width(table) > limit) {
    cli_table_destroy(table);
    table = make_table(found, &(layout){.narrow = true, .all = all});
  }
  return cli_table_finish(table);
}

/* "level_zero: no device: libze_loader.so.1: ..." */
static void print_driver(const kdl_driver_report *report) {
  char line[1024];
  kdl_out out = {line, sizeof line, 0};
  kdl_out_format(&out, "%s: ", kdl_backend_name(report->backend));
  for (const char *c = kdl_driver_state_names[report->state]; *c; ++c)
    kdl_out_format(&out, "%c", *c == '_' ? ' ' : *c);
  if (report->state != KDL_DRIVER_MISSING && report->library[0])
    kdl_out_format(&out, ": %s", report->library);
  if (report->words[0])
    kdl_out_format(&out, ": %s", report->words);
  if (report->limits[0])
    kdl_out_format(&out, " (in force: %s)", report->limits);
  cli_text_print((kdl_string){line, out.used}, "\n");
}

/* Whether there is nothing to report: it works, or it is not installed. */
static bool is_quiet(const kdl_driver_report *report) {
  return report->state == KDL_DRIVER_MISSING ||
         (report->state == KDL_DRIVER_USABLE && !report->words[0] && !report->limits[0]);
}

static void print_drivers(const kdl_discovery *found, bool all) {
  char missing[128] = "";
  kdl_out out = {missing, sizeof missing, 0};
  const char *gap = "\n";
  for (size_t i = 0; i < found->report_count; ++i) {
    const kdl_driver_report *report = &found->reports[i];
    if (report->state == KDL_DRIVER_MISSING)
      kdl_out_format(&out, "%s%s", out.used ? ", " : "", kdl_backend_name(report->backend));
    if (is_quiet(report) && !all)
      continue;
    fputs(gap, stdout);
    gap = "";
    print_driver(report);
  }
  if (out.used && !all)
    printf("%snot installed: %s\n", gap, missing);
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

static kdl_status print_known_table(void) {
  static const cli_column known_columns[] = {
      {.title = "NAME"}, {.title = "ARCH"}, {.title = "PRODUCT", .shrinks = 1}};
  cli_table *table = cli_table_create(known_columns, sizeof known_columns / sizeof *known_columns);
  kdl_known_device known;
  for (size_t i = 0; kdl_known_device_at(i, &known); ++i) {
    cli_table_add(table, kdl_text_of(known.name));
    cli_table_add(table, kdl_text_of(known.arch));
    cli_table_add(table, kdl_text_of(known.product));
  }
  return cli_table_finish(table);
}

static kdl_status print_known_json(void) {
  cli_json json = {.file = stdout};
  kdl_known_device known;
  cli_json_begin_object(&json);
  cli_json_put_array(&json, "devices");
  for (size_t i = 0; kdl_known_device_at(i, &known); ++i) {
    cli_json_begin_object(&json);
    cli_json_put_text(&json, "name", known.name);
    cli_json_put_text(&json, "arch", known.arch);
    cli_json_put_text(&json, "product", known.product);
    cli_json_put_bool(&json, "typical", known.is_typical);
    cli_json_end_object(&json);
  }
  cli_json_end_array(&json);
  cli_json_end_object(&json);
  return cli_output_flush();
}

int cli_run_devices(const cli_args *args) {
  bool all = cli_args_has(args, "all");
  if (cli_args_has(args, "known"))
    return cli_report_status(cli_args_has(args, "all") || cli_args_has(args, "runs") ||
                                     cli_args_has(args, "device")
                                 ? kdl_fail(KDL_BAD_CALL, "--known excludes --all, --runs and "
                                                          "--device: use it alone, or with --json")
                             : cli_args_has(args, "json") ? print_known_json()
                                                          : print_known_table());
  if (cli_args_has(args, "runs"))
    return cli_report_status(cli_devices_runs(args));
  if (cli_args_has(args, "device"))
    return cli_report_status(
        kdl_fail(KDL_BAD_CALL, "--device needs --runs; 'kdl explain' takes --device for a file"));
  kdl_discovery *found;
  kdl_status status = kdl_discover(NULL, &found);
  if (status != KDL_OK)
    return cli_report_status(status);
  if (cli_args_has(args, "json")) {
    kdl_discovery_write_json(found, stdout);
  } else {
    status = print_device_table(found, all);
    if (status == KDL_OK)
      print_drivers(found, all);
  }
  kdl_discovery_free(found);
  return cli_report_status(status);
}
