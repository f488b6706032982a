/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ext/jit/linker.h"

#include "ext/jit/ukernels.h"
#include "support/base/error.h"
#include "support/base/size.h"
#include "support/base/text.h"
#include "support/system/environment.h"
#include "support/system/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
