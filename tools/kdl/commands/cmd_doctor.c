/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl doctor: what libkdl finds and lacks on this machine, and which protections are in force,
 * above all those of kdl-ld. */
#include "compiler/toolchain/toolchain.h"
#include "lib/inspect/devices.h"
#include "lib/inspect/formats.h"
#include "lib/inspect/libraries.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"
#include "tools/common/program_folder.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Codecs, drivers, tools                                                                       */

static void print_codecs(void) {
  static const kdl_codec codecs[] = {KDL_CODEC_ZSTD, KDL_CODEC_ZLIB, KDL_CODEC_LZ4};
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; ++i) {
    bool works = kdl_codec_check(codecs[i]) == KDL_OK;
    cli_print_row(kdl_codec_name(codecs[i]), "%s", works ? "works" : kdl_error_message());
  }
}

static size_t count_routes(const kdl_discovery *found, kdl_backend backend) {
  size_t count = 0;
  for (size_t i = 0; i < found->route_count; ++i)
    count += found->routes[i].backend == backend;
  return count;
}

static kdl_status print_drivers(void) {
  kdl_discovery *found;
  KDL_TRY(kdl_discover(NULL, &found));
  for (size_t i = 0; i < found->report_count; ++i) {
    const kdl_driver_report *report = &found->reports[i];
    const char *name = kdl_backend_name(report->backend);
    size_t count = count_routes(found, report->backend);
    const char *state = report->state == KDL_DRIVER_MISSING ? "not installed"
                        : count                             ? "works"
                                                            : "no device";
    bool is_missing = report->state == KDL_DRIVER_MISSING;
    char devices[48] = "";
    if (count)
      snprintf(devices, sizeof devices, ", %zu device%s", count, count == 1 ? "" : "s");
    cli_print_row(name, "%s%s%s%s%s%s", state, devices,
                  !is_missing && report->library[0] ? ": " : "", is_missing ? "" : report->library,
                  report->words[0] ? ": " : "", report->words);
    if (report->limits[0])
      cli_print_row("", "in force: %s", report->limits);
  }
  kdl_discovery_free(found);
  return KDL_OK;
}

static void print_tools(void) {
  for (kdl_tool i = 0; i < KDL_TOOL_COUNT; ++i) {
    const kdl_tool_search *tool = kdl_toolchain_search(i);
    char path[PATH_MAX], why[1024];
    bool is_found = kdl_toolchain_find(i, path);
    cli_print_row(tool->name, "%s",
                  is_found ? path : kdl_tool_format_missing(tool, why, sizeof why));
  }
}

/* The program that kdl push and kdl pull start. */
static void print_registries(void) {
  char path[PATH_MAX];
  if (cli_program_file("kdl-registry", path) && access(path, X_OK) == 0)
    cli_print_row("registries", "%s", path);
  else
    cli_print_row("registries",
                  "kdl-registry not found: bundles go to folders alone (it is built where "
                  "libcurl is)");
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

static void print_folders(void) {
  const char *list = kdl_environment(KDL_VARIABLE_LIBRARY_PATH);
  const char *label = "libraries";
  for (const char *at = list; at && *at;) {
    size_t length = strcspn(at, ":");
    if (length) {
      cli_print_row(label, "%.*s (KDL_LIBRARY_PATH)", (int)length, at);
      label = "";
    }
    at += length + (at[length] == ':');
  }
  cli_print_row(label, "the folder of the program that asks");
  kdl_search_folders folders;
  kdl_search_system(false, &folders);
  for (size_t i = 0; i < folders.count; ++i)
    cli_print_row("", "%s%s", folders.paths[i],
                  access(folders.paths[i], X_OK) == 0 ? "" : " (not there)");
}

static void print_environment(void) {
  const char *label = "variables";
  for (char **at = environ; at && *at; ++at) {
    if (strncmp(*at, "KDL_", 4) != 0)
      continue;
    cli_print_row(label, "%s", *at);
    label = "";
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

int cli_run_doctor(const cli_args *args) {
  (void)args;
  cli_print_row("libkdl", "%s", kdl_version());
  print_codecs();
  int code = cli_report_status(print_drivers());
#if KDL_WITH_JIT
  cli_doctor_linker();
#endif
  print_tools();
  print_registries();
#if KDL_WITH_JIT
  cli_doctor_cache();
#endif
  print_folders();
  print_environment();
  return code;
}
