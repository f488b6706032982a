/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/linker.h"

#include "ext/jit/identity.h"
#include "ext/jit/link_key.h"
#include "support/base/error.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { default_seconds = 60, limit_seconds = 24 * 60 * 60 };

#define LIMIT_REPORT ((uint64_t)16 << 20)

/* A sanitizer's shadow memory exceeds any limit, and kdl-ld is built with the same sanitizer. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEFAULT_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEFAULT_MEMORY 0
#endif
#endif
#ifndef DEFAULT_MEMORY
#define DEFAULT_MEMORY ((uint64_t)4 << 30)
#endif

/* ------------------------------------------------------------------------------------------ */
/* Limits                                                                                       */

kdl_status kdl_link_limits_read(kdl_link_limits *out_limits) {
  const char *memory = kdl_environment(KDL_VARIABLE_LD_MEMORY);
  uint32_t seconds = default_seconds;
  *out_limits = (kdl_link_limits){.memory = DEFAULT_MEMORY};
  KDL_TRY(kdl_environment_seconds(KDL_VARIABLE_LD_TIMEOUT, limit_seconds, &seconds));
  out_limits->milliseconds = (int64_t)seconds * 1000;
  if (memory && kdl_size_parse(memory, &out_limits->memory) != KDL_OK) {
    kdl_error_prefix("KDL_LD_MEMORY");
    return KDL_BAD_CALL;
  }
  return KDL_OK;
}

/* ------------------------------------------------------------------------------------------ */
/* The call                                                                                     */

/* In the order of kdl-ld's descriptors, from 3 on. */
enum { file_caller, file_output, file_report, file_library };
enum { first_file = 3 };
#define NAME_OF_FILES "/proc/self/fd/"

const char *kdl_linker_file_name(const kdl_linker_call *call, kdl_string text, size_t *out_length) {
  size_t at = sizeof NAME_OF_FILES - 1;
  uint32_t number;
  if (!kdl_text_starts(text, NAME_OF_FILES) || !kdl_text_parse_number(text, &at, &number))
    return NULL;
  *out_length = at;
  if (number == first_file + file_caller)
    return "the image";
  size_t library = (size_t)number - first_file - file_library;
  return number >= first_file + file_library && library < call->library_count
             ? call->libraries[library].name
             : NULL;
}

void kdl_linker_format_message(const kdl_linker_call *call, kdl_string line, kdl_out *out) {
  for (size_t at = 0; at < line.length;) {
    size_t length;
    const char *name = kdl_linker_file_name(call, kdl_text_substr(line, at), &length);
    if (name) {
      kdl_out_format(out, "%s", name);
      at += length;
    } else {
      kdl_out_format(out, "%c", line.data[at++]);
    }
  }
}

static kdl_status make_linker_file(const char *name, const void *data, size_t size, int *out_fd) {
  *out_fd = kdl_memory_file_create(name, KDL_MEMORY_FILE_DATA, data, size);
  return *out_fd >= 0 ? KDL_OK
                      : kdl_fail_code(kdl_status_from_errno(errno), errno,
                                      "cannot make a file of %zu bytes in memory: %s", size,
                                      strerror(errno));
}

static kdl_status make_linker_files(const kdl_linker_call *call, int *files) {
  KDL_TRY(make_linker_file("kdl-caller", call->caller, call->caller_size, &files[file_caller]));
  KDL_TRY(make_linker_file("kdl-output", "", 0, &files[file_output]));
  KDL_TRY(make_linker_file("kdl-report", "", 0, &files[file_report]));
  for (size_t i = 0; i < call->library_count; ++i)
    KDL_TRY(make_linker_file("kdl-library", call->libraries[i].data, call->libraries[i].size,
                             &files[file_library + i]));
  return KDL_OK;
}

void kdl_linker_add_search_path(kdl_string_list *options) {
  char path[PATH_MAX];
  const char *list = kdl_environment(KDL_VARIABLE_UKERNEL_PATH);
  while (kdl_ukernel_path_next(&list, path))
    kdl_string_list_append_format(options, "--ukernels=%s", path);
}

static void make_linker_arguments(const kdl_linker_call *call, kdl_string_list *line) {
  kdl_string_list_append(line, "kdl-ld");
  kdl_string_list_append(line, "--protocol=1");
  kdl_string_list_append_format(line, "--caller=" NAME_OF_FILES "%d", first_file + file_caller);
  kdl_string_list_append_format(line, "--output=" NAME_OF_FILES "%d", first_file + file_output);
  kdl_string_list_append_format(line, "--report=" NAME_OF_FILES "%d", first_file + file_report);
  kdl_string_list_append_format(line, "--for=%s", call->device);
  kdl_string_list_append_format(line, "--parent=%d", (int)getpid());
  kdl_string_list_append(line, "--checked");
  for (size_t i = 0; i < call->library_count; ++i)
    kdl_string_list_append_format(line, "--ukernels=" NAME_OF_FILES "%zu",
                                  first_file + file_library + i);
  for (size_t i = 0; i < call->options->count; ++i)
    kdl_string_list_append(line, call->options->items[i]);
  line->failed |= call->options->failed;
}

kdl_status kdl_linker_call_run(const kdl_linker_call *call, kdl_linker_run *out_run) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list line = {.arena = &arena};
  out_run->largest_output = call->largest_output;
  for (size_t i = 0; i < KDL_LINKER_FILES; ++i)
    out_run->files[i] = -1;
  kdl_status status = make_linker_files(call, out_run->files);
  make_linker_arguments(call, &line);
  if (status == KDL_OK && line.failed)
    status = kdl_fail(KDL_NO_MEMORY, "out of memory for the linker's command line");
  kdl_subprocess subprocess = {.path = call->path,
                               .arguments = line.items,
                               .environment = call->environment,
                               .files = out_run->files,
                               .file_count = file_library + call->library_count,
                               .milliseconds = call->limits.milliseconds,
                               .memory = call->limits.memory,
                               .largest_file = call->largest_output,
                               .awaits_limits = true};
  if (status == KDL_OK)
    status = kdl_subprocess_run(&subprocess, &out_run->outcome);
  kdl_arena_free(&arena);
  return status;
}

void kdl_linker_close(kdl_linker_run *run) {
  for (size_t i = 0; i < KDL_LINKER_FILES; ++i) {
    if (run->files[i] >= 0)
      close(run->files[i]);
  }
}

/* ------------------------------------------------------------------------------------------ */
/* Results                                                                                      */

kdl_status kdl_linker_report(const kdl_linker_run *run, kdl_link_report *out_report) {
  void *text = NULL;
  size_t size;
  kdl_status status =
      kdl_memory_file_read(run->files[file_report], "kdl-ld", LIMIT_REPORT, &text, &size);
  if (status == KDL_OK)
    status = kdl_link_report_read(text, size, out_report);
  else
    *out_report = (kdl_link_report){.error = "", .kind = "", .triple = "", .arch = ""};
  free(text);
  return status;
}

kdl_status kdl_linker_output(const kdl_linker_run *run, void **out_data, size_t *out_size) {
  return kdl_memory_file_read(run->files[file_output], "kdl-ld", run->largest_output, out_data,
                              out_size);
}

#define LIMIT_OUTPUT ((uint64_t)256 << 20)

/* ------------------------------------------------------------------------------------------ */
/* The command line                                                                             */

/* A line "const NAME=VALUE" or "fold VALUE" is the option of its first word. */
static void add_constants(kdl_string_list *options, const char *constants) {
  while (constants && *constants) {
    size_t length = strcspn(constants, "\n");
    size_t word = strcspn(constants, " ");
    kdl_string_list_append_format(options, "--%.*s=%.*s", (int)word, constants,
                                  (int)(length - word - 1), constants + word + 1);
    constants += length + 1;
  }
}

static void make_linker_options(const kdl_link_task *task, const kdl_link_key *key,
                                kdl_string_list *options) {
  if (task->kernel)
    kdl_string_list_append_format(options, "--kernel=%s", task->kernel);
  if (key->ukernels.policy == KDL_TRUST_OFF)
    kdl_linker_add_search_path(options);
  add_constants(options, task->constants);
}

/* Our environment, except that debug lines come back to us where there is a listener, and that
 * kdl-ld writes no trace: in ours it is a phase. */
static void make_environment(kdl_string_list *list) {
  for (char **at = environ; at && *at; ++at) {
    if (!kdl_starts_with(*at, "KDL_DEBUG") && !kdl_starts_with(*at, "KDL_TRACE"))
      kdl_string_list_append(list, *at);
  }
  kdl_string_list_append(list, kdl_debug_on(KDL_DEBUG_LINK) ? "KDL_DEBUG=link" : "KDL_DEBUG=");
}

/* ------------------------------------------------------------------------------------------ */
/* Messages of kdl-ld                                                                           */

/* The lines with an error, or all lines where none is marked as one. */
static void format_linker_errors(kdl_out *out, const char *error_text,
                                 const kdl_linker_call *call) {
  static const char mark[] = "error: ";
  bool has_errors = strstr(error_text, mark) != NULL;
  const char *join = ": ";
  for (const char *at = error_text; *at;) {
    kdl_string line = {at, strcspn(at, "\n")};
    at += line.length + (at[line.length] == '\n');
    const char *error = has_errors ? memmem(line.data, line.length, mark, sizeof mark - 1) : NULL;
    if (has_errors && !error)
      continue;
    if (error)
      line = kdl_text_substr(line, (size_t)(error - line.data) + sizeof mark - 1);
    if (!line.length)
      continue;
    kdl_out_format(out, "%s", join);
    kdl_linker_format_message(call, line, out);
    join = "; ";
  }
}

static void log_linker_messages(const char *error_text, const kdl_linker_call *call) {
  static const char mark[] = "kdl: link: ";
  for (const char *at = error_text; *at && kdl_debug_on(KDL_DEBUG_LINK);) {
    char text[1024];
    kdl_out out = {text, sizeof text, 0};
    kdl_string line = {at, strcspn(at, "\n")};
    at += line.length + (at[line.length] == '\n');
    kdl_linker_format_message(
        call, kdl_text_starts(line, mark) ? kdl_text_substr(line, sizeof mark - 1) : line, &out);
    kdl_debug(KDL_DEBUG_LINK, "  kdl-ld: %s", text);
  }
}

static kdl_status fail_linker_run(const kdl_link_key *key, const kdl_linker_call *call,
                                  const kdl_subprocess_outcome *outcome) {
  char how[128], error_text[1024] = "";
  kdl_status status = KDL_BAD_FILE;
  int64_t code = 0;
  kdl_out out = {error_text, sizeof error_text, 0};
  format_linker_errors(&out, outcome->words, call);
  if (outcome->end == KDL_SUBPROCESS_OVERRAN) {
    status = KDL_NO_MEMORY;
    code = ETIMEDOUT;
    snprintf(how, sizeof how, "was stopped after %" PRId64 " s (KDL_LD_TIMEOUT)",
             call->limits.milliseconds / 1000);
  } else if (outcome->end == KDL_SUBPROCESS_CANCELLED) {
    status = KDL_IO;
    snprintf(how, sizeof how, "was cancelled");
  } else if (outcome->end == KDL_SUBPROCESS_KILLED) {
    snprintf(how, sizeof how, "died of signal %d (%s)", outcome->code, strsignal(outcome->code));
  } else if (outcome->end == KDL_SUBPROCESS_UNKNOWN) {
    snprintf(how, sizeof how, "ended in an unknown way, and without a whole report");
  } else if (outcome->code == 1) {
    snprintf(how, sizeof how, "refused it");
  } else {
    snprintf(how, sizeof how, "died with status %d", outcome->code);
  }
  return kdl_fail_code(status, code, "kdl-ld %s%s%s", how, error_text, key->ukernels.skipped);
}

/* ------------------------------------------------------------------------------------------ */

/* A report that cannot be read does not spoil the image. Dependencies are checked after the link:
 * if one is newer than its start, the link may have used another state. */
static void record_dependencies(const kdl_linker_run *run, time_t begun, FILE *notes,
                                kdl_link_result *result, kdl_link_report *report) {
  bool is_recently_modified = false;
  kdl_status status = kdl_linker_report(run, report);
  for (size_t i = 0; i < report->depends.count; ++i) {
    fprintf(notes, "depends ");
    kdl_identity_print(notes, report->depends.items[i], &is_recently_modified);
    is_recently_modified |=
        kdl_identity_is_newer(report->depends.items[i], begun - KDL_IDENTITY_RECENT_SECONDS);
    fputc('\n', notes);
  }
  result->out_of_memory = status == KDL_NO_MEMORY;
  if (status != KDL_OK)
    snprintf(result->uncacheable_reason, sizeof result->uncacheable_reason,
             "what it depends on is unknown: %s", kdl_error_message());
  else if (is_recently_modified)
    snprintf(result->uncacheable_reason, sizeof result->uncacheable_reason,
             "what it depends on was just changed");
}

/* Where the exit status is unknown, a report that agrees with the output proves success, since it
 * is written last. */
static bool link_succeeded(const kdl_subprocess_outcome *outcome, const kdl_link_report *report,
                           size_t output_size) {
  if (outcome->end == KDL_SUBPROCESS_EXITED)
    return outcome->code == 0;
  return outcome->end == KDL_SUBPROCESS_UNKNOWN && report->is_complete &&
         output_size == report->output_size;
}

static kdl_status collect_link_result(const kdl_link_key *key, const kdl_linker_call *call,
                                      const kdl_linker_run *run, time_t begun, const char *name,
                                      kdl_link_result *result) {
  size_t notes_size;
  kdl_link_report report;
  FILE *notes = kdl_text_stream(&result->notes, &notes_size);
  if (!notes)
    return kdl_fail(KDL_NO_MEMORY, "out of memory");
  fprintf(notes, "source %s\n", name);
  record_dependencies(run, begun, notes, result, &report);
  kdl_status status = fclose(notes) == 0 ? kdl_linker_output(run, &result->image, &result->size)
                                         : kdl_fail(KDL_NO_MEMORY, "out of memory");
  if (status == KDL_OK && !link_succeeded(&run->outcome, &report, result->size))
    status = fail_linker_run(key, call, &run->outcome);
  kdl_link_report_free(&report);
  return status;
}

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static kdl_status run_linker_call(const kdl_link_key *key, const kdl_linker_call *call,
                                  const char *name, kdl_link_result *result) {
  kdl_linker_run run;
  int64_t start = now_us();
  time_t begun = time(NULL);
  kdl_status status = kdl_linker_call_run(call, &run);
  if (status == KDL_OK) {
    log_linker_messages(run.outcome.words, call);
    status = collect_link_result(key, call, &run, begun, name, result);
  }
  kdl_linker_close(&run);
  if (status == KDL_OK && !result->size)
    status = kdl_fail(KDL_BAD_FILE, "kdl-ld wrote nothing");
  if (status == KDL_OK)
    kdl_debug(KDL_DEBUG_LINK, "%s: linked in %.1f ms: %zu bytes", name,
              (double)(now_us() - start) / 1000, result->size);
  return status;
}

kdl_status kdl_link_run(const kdl_link_task *task, kdl_link_key *key, const kdl_link_limits *limits,
                        const char *name, kdl_link_result *out_result) {
  kdl_arena arena = {.blocks = NULL};
  kdl_string_list options = {.arena = &arena}, environment = {.arena = &arena};
  kdl_link_result result = {.image = NULL};
  KDL_TRY(kdl_link_key_snapshot(task, key));
  make_linker_options(task, key, &options);
  make_environment(&environment);
  kdl_linker_call call = {.path = key->linker,
                          .limits = *limits,
                          .largest_output = LIMIT_OUTPUT,
                          .device = key->device,
                          .caller = key->caller,
                          .caller_size = key->caller_size,
                          .libraries = key->ukernels.items,
                          .library_count = key->ukernels.count,
                          .options = &options,
                          .environment = environment.items};
  kdl_status status = environment.failed ? kdl_fail(KDL_NO_MEMORY, "out of memory")
                                         : run_linker_call(key, &call, name, &result);
  kdl_arena_free(&arena);
  kdl_status checked =
      status == KDL_OK && !result.uncacheable_reason[0] ? kdl_link_key_check(task, key) : KDL_OK;
  if (checked != KDL_OK) {
    snprintf(result.uncacheable_reason, sizeof result.uncacheable_reason, "%s",
             kdl_error_message());
    result.out_of_memory = checked == KDL_NO_MEMORY;
  }
  if (status == KDL_OK) {
    *out_result = result;
  } else {
    free(result.image);
    free(result.notes);
  }
  return status;
}
