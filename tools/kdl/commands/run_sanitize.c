/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Oclgrind's log has a block for each finding:
 *
 *     Read-write data race at local memory address 0x100000000007c
 *     	Kernel: race
 *
 *     	First entity:  Global(32,0,0) Local(32,0,0) Group(0,0,0)
 *     	  %1 = load float, float addrspace(3)* %arrayidx8, align 4, !dbg !46, !tbaa !39
 *     	At line 7 (column 32) of race.c:
 *     	  (source not available)
 *
 *     	Second entity: Global(31,0,0) Local(31,0,0) Group(0,0,0)
 *     	...
 *
 * Columns refer to the preprocessed text and are not printed.
 */
#include "tools/kdl/commands/run.h"

#include "compiler/toolchain/toolchain.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/subprocess.h"
#include "support/system/variables.h"
#include "tools/common/input.h"
#include "tools/common/memory.h"
#include "tools/common/output.h"
#include "tools/common/report.h"
#include "tools/common/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------ */
/* The second process                                                                           */

static kdl_status find_oclgrind(kdl_arena *arena, const char **out_library) {
  char path[PATH_MAX], why[512];
  if (!kdl_toolchain_find(KDL_TOOL_OCLGRIND, path))
    return kdl_fail(
        KDL_UNSUPPORTED, "--sanitize: %s",
        kdl_tool_format_missing(kdl_toolchain_search(KDL_TOOL_OCLGRIND), why, sizeof why));
  *out_library = xarena_format(arena, "%s", path);
  return KDL_OK;
}

static void set_environment(const char *library, const char *log) {
  const char *const pairs[][2] = {{"OCL_ICD_VENDORS", library},
                                  {"OCL_ICD_FILENAMES", library},
                                  {"OCLGRIND_LOG", log},
                                  {"OCLGRIND_DATA_RACES", "1"},
                                  {"OCLGRIND_MAX_ERRORS", "10000"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    if (setenv(pairs[i][0], pairs[i][1], 1) != 0)
      cli_out_of_memory();
  }
}

static kdl_status make_log(cli_sanitizer *sanitizer) {
  const char *base = kdl_environment(KDL_VARIABLE_TMPDIR);
  const char *form =
      xarena_format(&sanitizer->arena, "%s/kdl-run-XXXXXX", base && *base ? base : "/tmp");
  char *path = (char *)(uintptr_t)form;
  int fd = mkstemp(path);
  if (fd < 0)
    return kdl_fail(KDL_IO, "%s: cannot make a temporary file: %s", path, strerror(errno));
  close(fd);
  sanitizer->log = path;
  return KDL_OK;
}

kdl_status cli_sanitizer_begin(cli_sanitizer *sanitizer) {
  const char *library = NULL;
  int state = 0;
  KDL_TRY(find_oclgrind(&sanitizer->arena, &library));
  KDL_TRY(make_log(sanitizer));
  fflush(stdout);
  pid_t child = fork();
  if (child < 0)
    return kdl_fail(kdl_status_from_errno(errno), "--sanitize: cannot fork: %s", strerror(errno));
  sanitizer->is_child = child == 0;
  if (sanitizer->is_child) {
    set_environment(library, sanitizer->log);
    return KDL_OK;
  }
  int failure = kdl_process_wait(child, &state);
  if (failure)
    return kdl_fail(KDL_IO, "--sanitize: cannot wait for the launch: %s", strerror(failure));
  sanitizer->code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return KDL_OK;
}

_Noreturn void cli_sanitizer_leave(int code) {
  cli_output_flush();
  fflush(NULL);
  _exit(code);
}

/* ------------------------------------------------------------------------------------------ */
/* Findings                                                                                     */

enum { max_findings = 256 };

typedef struct {
  kdl_string headline;
  kdl_string file[2], item[2]; /* for one work-item, or two that race */
  uint32_t line[2];
  unsigned places, items;
  kdl_string reached; /* "Only 32 out of 64 work-items executed barrier" */
  size_t count;       /* how often it occurred */
} finding;

/* The text after `key` in the line, up to one of `ends`. */
static bool read_after(kdl_string line, const char *key, const char *ends, kdl_string *out_text) {
  const char *found = memmem(line.data, line.length, key, strlen(key));
  if (!found)
    return false;
  kdl_string rest = kdl_text_substr(line, (size_t)(found - line.data) + strlen(key));
  *out_text = (kdl_string){rest.data, kdl_text_find(rest, 0, ends)};
  return true;
}

static void parse_log_line(kdl_string line, finding *f) {
  kdl_string text;
  if (f->items < 2 && read_after(line, "Global(", ")", &text))
    f->item[f->items++] = text;
  if (read_after(line, "\tOnly ", "\n", &text))
    f->reached = text;
  if (f->places < 2 && read_after(line, "\tAt line ", " ", &text)) {
    size_t at = 0;
    kdl_text_parse_number(text, &at, &f->line[f->places]);
    if (read_after(line, ") of ", ":", &text))
      f->file[f->places++] = text;
  }
}

static bool is_same_finding(const finding *a, const finding *b) {
  if (!kdl_text_equal((kdl_string){a->headline.data, kdl_text_find(a->headline, 0, " ")},
                      (kdl_string){b->headline.data, kdl_text_find(b->headline, 0, " ")}) ||
      a->places != b->places)
    return false;
  bool is_straight = true;
  bool is_crossed = a->places == 2;
  for (unsigned i = 0; i < a->places; ++i) {
    is_straight &= a->line[i] == b->line[i] && kdl_text_equal(a->file[i], b->file[i]);
    is_crossed &= a->line[i] == b->line[1 - i] && kdl_text_equal(a->file[i], b->file[1 - i]);
  }
  return is_straight || is_crossed;
}

static void add_finding(finding *all, size_t *count, const finding *found) {
  if (!found->headline.length)
    return;
  for (size_t i = 0; i < *count; ++i) {
    if (is_same_finding(&all[i], found)) {
      ++all[i].count;
      return;
    }
  }
  if (*count < max_findings)
    all[(*count)++] = *found;
}

static size_t read_log(kdl_string log, finding *all) {
  size_t count = 0;
  finding current = {.count = 1};
  for (size_t at = 0, end; at < log.length; at = end + 1) {
    end = kdl_text_find(log, at, "\n");
    kdl_string line = {log.data + at, end - at};
    if (line.length && line.data[0] != '\t') {
      add_finding(all, &count, &current);
      current = (finding){.headline = line, .count = 1};
    } else {
      parse_log_line(line, &current);
    }
  }
  add_finding(all, &count, &current);
  return count;
}

/* ------------------------------------------------------------------------------------------ */
/* Words                                                                                        */

static const char *memory_of(kdl_string headline) {
  return kdl_text_contains(headline, "local memory")     ? "group memory"
         : kdl_text_contains(headline, "private memory") ? "private memory"
                                                         : "global memory";
}

static void print_race(const finding *f) {
  cli_text_printf(stderr, "data race in %s: work-item %.*s here, and %.*s", memory_of(f->headline),
                  (int)f->item[0].length, f->item[0].data, (int)f->item[1].length, f->item[1].data);
  if (f->places == 2)
    cli_text_printf(stderr, " at %.*s:%u", (int)f->file[1].length, f->file[1].data, f->line[1]);
}

/* "Invalid read of size 4 at global memory address 0x1000000000100" */
static void print_access(const finding *f) {
  kdl_string size = {"", 0};
  read_after(f->headline, "of size ", " ", &size);
  cli_text_printf(stderr, "%s of %.*s bytes beyond what is there in %s, by work-item %.*s",
                  kdl_text_contains(f->headline, "read") ? "read" : "write", (int)size.length,
                  size.data, memory_of(f->headline), (int)f->item[0].length, f->item[0].data);
}

static void print_finding(const finding *f) {
  if (f->places)
    cli_text_printf(stderr, "%.*s:%u: error: ", (int)f->file[0].length, f->file[0].data,
                    f->line[0]);
  else
    fprintf(stderr, "%s: error: ", cli_report_name());
  if (kdl_text_contains(f->headline, "data race") && f->items == 2)
    print_race(f);
  else if (kdl_text_starts(f->headline, "Invalid ") && f->items)
    print_access(f);
  else if (kdl_text_contains(f->headline, "divergence") && f->reached.length)
    cli_text_printf(stderr, "barrier in divergent flow: %.*s", (int)f->reached.length,
                    f->reached.data);
  else
    cli_text_printf(stderr, "%.*s", (int)f->headline.length, f->headline.data);
  if (f->count > 1)
    fprintf(stderr, " (found %zu times)", f->count);
  fputc('\n', stderr);
}

kdl_status cli_sanitizer_report(cli_sanitizer *sanitizer, size_t *out_count) {
  cli_bytes bytes;
  *out_count = 0;
  KDL_TRY(cli_bytes_read(sanitizer->log, &bytes));
  finding *all = xcalloc(max_findings, sizeof *all);
  *out_count = read_log((kdl_string){bytes.data, bytes.size}, all);
  fflush(stdout);
  for (size_t i = 0; i < *out_count; ++i)
    print_finding(&all[i]);
  cli_bytes_free(&bytes);
  free(all);
  return KDL_OK;
}

void cli_sanitizer_end(cli_sanitizer *sanitizer) {
  if (sanitizer->log && !sanitizer->is_child)
    unlink(sanitizer->log);
  kdl_arena_free(&sanitizer->arena);
}
