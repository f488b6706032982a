/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl doctor: kdl-ld, above all its confinement, and the cache. */
#include "ext/jit/cache/inspect.h"
#include "ext/jit/commands/commands.h"
#include "ext/jit/linker.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/loader.h"
#include "support/system/subprocess.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With `awaits_limits`, kdl-ld starts a worker process, which must have the limits. */
static bool run_linker_option(const char *path, const char *option, bool awaits_limits,
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

/* The text after "KEY "; "unknown" where no line has the key. */
static kdl_string find_line_value(const char *lines, const char *key) {
  size_t length = strlen(key);
  for (const char *at = lines; *at;) {
    kdl_string line = {at, strcspn(at, "\n")};
    if (strncmp(at, key, length) == 0 && at[length] == ' ')
      return kdl_text_substr(line, length + 1);
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
    kdl_string value = find_line_value(lines, rows[i].key);
    cli_print_row("", "%s: %.*s", rows[i].words, (int)value.length, value.data);
  }
}

void cli_doctor_linker(void) {
  char path[PATH_MAX];
  if (!kdl_linker_path(path)) {
    cli_print_row("kdl-ld",
                  "not found: bitcode is refused (it is built where LLVM 22 is; KDL_LD names it)");
    return;
  }
  kdl_subprocess_outcome outcome;
  if (!run_linker_option(path, "--version", false, &outcome)) {
    cli_print_row("kdl-ld", "%s: does not work: %s", path, kdl_error_message());
    return;
  }
  cli_print_row("kdl-ld", "%s: %.*s", path, (int)strcspn(outcome.words, "\n"), outcome.words);
  if (run_linker_option(path, "--rights", true, &outcome))
    print_rights(outcome.words);
  else
    cli_print_row("", "its rights are unknown: %s", kdl_error_message());
}

void cli_doctor_cache(void) {
  static const char *const modes[] = {
      [KDL_CACHE_ON] = "on", [KDL_CACHE_READ_ONLY] = "read only", [KDL_CACHE_OFF] = "off"};
  kdl_cache_settings settings;
  kdl_cache_totals totals;
  if (kdl_cache_settings_read(&settings) != KDL_OK)
    cli_print_row("cache", "%s", kdl_error_message());
  else if (settings.mode == KDL_CACHE_OFF)
    cli_print_row("cache", "off");
  else if (kdl_cache_count(&settings, &totals) != KDL_OK)
    cli_print_row("cache", "%s: %s", settings.dir, kdl_error_message());
  else
    cli_print_row("cache", "%s: %s, %zu entr%s, %" PRIu64 " of %" PRIu64 " bytes", settings.dir,
                  modes[settings.mode], totals.entries, totals.entries == 1 ? "y" : "ies",
                  totals.bytes, settings.limit);
}
