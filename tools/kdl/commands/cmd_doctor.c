/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl doctor: what libkdl finds on this machine, what it lacks, and what holds of what
 * it promises: above all the rights of the program that it hands bitcode to. */
#include "ext/jit/cache/inspect.h"
#include "ext/jit/linker.h"
#include "lib/inspect/codec.h"
#include "lib/inspect/containers.h"
#include "lib/inspect/devices.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/loader.h"
#include "support/system/subprocess.h"
#include "tools/common/beside.h"
#include "tools/common/report.h"
#include "tools/common/text.h"
#include "tools/kdl/commands.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* Lines                                                                                        */

static __attribute__((format(printf, 2, 3))) void print(const char *label, const char *format,
                                                        ...) {
  char line[PATH_MAX + 512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  printf("%-10s  ", label);
  cli_text_print(kdl_text_of(line), "\n");
}

/* ------------------------------------------------------------------------------------------ */
/* Codecs and drivers                                                                           */

static void print_codecs(void) {
  static const kdl_codec codecs[] = {KDL_CODEC_ZSTD, KDL_CODEC_ZLIB, KDL_CODEC_LZ4};
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; ++i) {
    bool works = kdl_codec_check(codecs[i]) == KDL_OK;
    print(kdl_codec_name(codecs[i]), "%s", works ? "works" : kdl_error_message());
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
    print(name, "%s%s%s%s%s%s", state, devices, !is_missing && report->library[0] ? ": " : "",
          is_missing ? "" : report->library, report->words[0] ? ": " : "", report->words);
    if (report->limits[0])
      print("", "in force: %s", report->limits);
  }
  kdl_discovery_free(found);
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The linker                                                                                   */

/* With `awaits_limits`, kdl-ld starts another process, which is to have them. */
static bool ask_linker(const char *path, const char *option, bool awaits_limits,
                       kdl_subprocess_outcome *outcome) {
  char parent[32];
  snprintf(parent, sizeof parent, "--parent=%d", (int)getpid());
  const char *const arguments[] = {"kdl-ld", option, awaits_limits ? parent : NULL, NULL};
  kdl_link_limits limits;
  if (kdl_link_limits_read(&limits) != KDL_OK)
    return false;
  kdl_subprocess program = {.path = path,
                            .arguments = arguments,
                            .environment = (const char *const *)environ,
                            .milliseconds = limits.milliseconds,
                            .memory = limits.memory,
                            .awaits_limits = awaits_limits};
  if (kdl_subprocess_run(&program, outcome) != KDL_OK)
    return false;
  if (outcome->end == KDL_SUBPROCESS_EXITED && outcome->code == 0)
    return true;
  kdl_fail(KDL_IO, "%s failed: %.*s", option, (int)strcspn(outcome->words, "\n"), outcome->words);
  return false;
}

/* The rest of the line "KEY REST"; "unknown" where there is none. */
static kdl_string value_of(const char *lines, const char *key) {
  size_t length = strlen(key);
  for (const char *at = lines; *at;) {
    kdl_string line = {at, strcspn(at, "\n")};
    if (strncmp(at, key, length) == 0 && at[length] == ' ')
      return kdl_text_from(line, length + 1);
    at += line.length + (at[line.length] == '\n');
  }
  return kdl_text_of("unknown");
}

static void print_rights(const char *lines) {
  static const struct {
    const char *key, *words;
  } rows[] = {
      {"no_new_privileges", "no new privileges"},
      {"pid_namespace", "PID namespace"},
      {"landlock", "Landlock, version"},
      {"seccomp", "seccomp"},
      {"read_etc_passwd", "tried to read /etc/passwd"},
      {"write_tmp", "tried to write to /tmp"},
      {"socket", "tried to make a socket"},
      {"change_file", "tried to change the times of /usr"},
      {"watch_file", "tried to watch /usr"},
      {"raise_limits", "tried to raise its limits"},
      {"cpu_seconds", "seconds of CPU time, at most"},
      {"memory", "bytes of memory, at most"},
      {"processes", "processes and threads, at most"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    kdl_string value = value_of(lines, rows[i].key);
    print("", "%s: %.*s", rows[i].words, (int)value.length, value.data);
  }
}

static void print_linker(void) {
  char path[PATH_MAX];
  if (!kdl_linker_path(path)) {
    print("kdl-ld",
          "not found: bitcode is refused (it is built where LLVM 22 is; KDL_LD names it)");
    return;
  }
  kdl_subprocess_outcome outcome;
  if (!ask_linker(path, "--version", false, &outcome)) {
    print("kdl-ld", "%s: does not work: %s", path, kdl_error_message());
    return;
  }
  print("kdl-ld", "%s: %.*s", path, (int)strcspn(outcome.words, "\n"), outcome.words);
  if (ask_linker(path, "--rights", true, &outcome))
    print_rights(outcome.words);
  else
    print("", "its rights are unknown: %s", kdl_error_message());
}

/* What kdl push and kdl pull start. */
static void print_registries(void) {
  char path[PATH_MAX];
  if (cli_beside("kdl-registry", path) && access(path, X_OK) == 0)
    print("registries", "%s", path);
  else
    print("registries", "kdl-registry not found: bundles go to folders alone (it is built where "
                        "libcurl is)");
}

/* ------------------------------------------------------------------------------------------ */
/* Folders                                                                                      */

static void print_cache(void) {
  static const char *const modes[] = {
      [KDL_CACHE_ON] = "on", [KDL_CACHE_READ_ONLY] = "read only", [KDL_CACHE_OFF] = "off"};
  kdl_cache_settings settings;
  kdl_cache_totals totals;
  if (kdl_cache_settings_read(&settings) != KDL_OK)
    print("cache", "%s", kdl_error_message());
  else if (settings.mode == KDL_CACHE_OFF)
    print("cache", "off");
  else if (kdl_cache_count(&settings, &totals) != KDL_OK)
    print("cache", "%s: %s", settings.dir, kdl_error_message());
  else
    print("cache", "%s: %s, %zu entr%s, %" PRIu64 " of %" PRIu64 " bytes", settings.dir,
          modes[settings.mode], totals.entries, totals.entries == 1 ? "y" : "ies", totals.bytes,
          settings.limit);
}

static void print_folders(void) {
  const char *list = kdl_environment("KDL_LIBRARY_PATH");
  const char *label = "libraries";
  for (const char *at = list; at && *at;) {
    size_t length = strcspn(at, ":");
    if (length) {
      print(label, "%.*s (KDL_LIBRARY_PATH)", (int)length, at);
      label = "";
    }
    at += length + (at[length] == ':');
  }
  print(label, "the folder of the program that asks");
  kdl_search_folders folders;
  kdl_search_system(false, &folders);
  for (size_t i = 0; i < folders.count; ++i)
    print("", "%s%s", folders.paths[i], access(folders.paths[i], X_OK) == 0 ? "" : " (not there)");
}

static void print_environment(void) {
  const char *label = "variables";
  for (char **at = environ; at && *at; ++at) {
    if (strncmp(*at, "KDL_", 4) != 0)
      continue;
    print(label, "%s", *at);
    label = "";
  }
}

/* ------------------------------------------------------------------------------------------ */
/* The command                                                                                  */

int cli_run_doctor(const cli_args *args) {
  (void)args;
  print("libkdl", "%s", kdl_version());
  print_codecs();
  int code = cli_finish(print_drivers());
  print_linker();
  print_registries();
  print_cache();
  print_folders();
  print_environment();
  return code;
}
