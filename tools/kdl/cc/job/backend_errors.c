/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/backend_errors.h"

#include "cc/job/job_steps.h"

#include <string.h>

/* Behind one of the marks of such errors, the line; empty where there is none. */
static kdl_string error_in(kdl_string message) {
  static const char *const marks[] = {"error in backend: ", "LLVM ERROR: ", "ptxas error   : ",
                                      "ptxas fatal   : ", "<unknown>:0:0: "};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
    const char *found = memmem(message.data, message.length, marks[i], strlen(marks[i]));
    if (!found)
      continue;
    kdl_string rest = kdl_text_from(message, (size_t)(found - message.data) + strlen(marks[i]));
    return (kdl_string){rest.data, kdl_text_find(rest, 0, "\n")};
  }
  return (kdl_string){"", 0};
}

/* A name in the text that is not part of a longer one. */
static bool has_name(kdl_string text, const char *name) {
  size_t length = strlen(name);
  for (size_t at = 0; at + length <= text.length; ++at) {
    bool is_begun = at > 0 && (kdl_is_digit(text.data[at - 1]) || text.data[at - 1] == '_' ||
                               (text.data[at - 1] | 32) >= 'a');
    char next = at + length < text.length ? text.data[at + length] : ' ';
    bool goes_on = kdl_is_digit(next) || next == '_' || ((next | 32) >= 'a' && (next | 32) <= 'z');
    if (!is_begun && !goes_on && memcmp(text.data + at, name, length) == 0)
      return true;
  }
  return false;
}

static const cc_kernel *kernel_in(const cc_job *job, kdl_string text) {
  for (size_t i = 0; i < job->kernels.count; ++i) {
    if (has_name(text, job->kernels.items[i].name))
      return &job->kernels.items[i];
  }
  return job->kernels.count == 1 ? &job->kernels.items[0] : NULL;
}

void cc_backend_error_place(cc_job *job) {
  kdl_string message =
      job->message_count ? job->messages[job->message_count - 1] : (kdl_string){"", 0};
  kdl_string text = error_in(message);
  const char *place = kdl_arena_format(&job->arena, "%s:", job->source->path);
  if (!job->is_told || text.length == 0 || !place || kdl_text_contains(message, place))
    return;
  const cc_kernel *kernel = kernel_in(job, message);
  --job->message_count;
  cc_refuse_at(job, kernel ? kernel->place : (cc_place){.line = 0}, "%.*s", (int)text.length,
               text.data);
}
