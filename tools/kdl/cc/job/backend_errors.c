/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/backend_errors.h"

#include "cc/job/job_steps.h"

#include <ctype.h>
#include <string.h>

/* Behind one of the marks of such errors, the line; empty where there is none. */
static kdl_string error_in(kdl_string message) {
  static const char *const marks[] = {"error in backend: ", "LLVM ERROR: ",     "; error   : ",
                                      "ptxas error   : ",   "ptxas fatal   : ", "<unknown>:0:0: "};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
    const char *found = memmem(message.data, message.length, marks[i], strlen(marks[i]));
    if (!found)
      continue;
    kdl_string rest = kdl_text_from(message, (size_t)(found - message.data) + strlen(marks[i]));
    return (kdl_string){rest.data, kdl_text_find(rest, 0, "\n")};
  }
  /* spirv-val's: "error: line 12: OpTypeFunction may not take more than 255 arguments." */
  static const char validator[] = "error: line ";
  if (kdl_text_starts(message, validator)) {
    kdl_string rest = kdl_text_from(message, kdl_text_find(message, sizeof validator - 1, ":") + 2);
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

/* Without addresses of the compiler's own, which are others each time: "0x55d0c0: i64 = ". */
static const char *plain_words(cc_job *job, kdl_string text) {
  char *words = kdl_arena_alloc(&job->arena, text.length + 1);
  size_t used = 0;
  for (size_t at = 0; words && at < text.length;) {
    kdl_string rest = kdl_text_from(text, at);
    size_t digits = kdl_text_starts(rest, "0x") ? 2 : 0;
    while (digits && digits < rest.length && isxdigit((unsigned char)rest.data[digits]))
      ++digits;
    bool is_address = digits >= 2 + 9;
    if (is_address && digits < rest.length && rest.data[digits] == ':')
      ++digits;
    if (is_address) {
      at += digits + (digits < rest.length && rest.data[digits] == ' ');
      continue;
    }
    words[used++] = text.data[at++];
  }
  while (used && strchr(" ,", words[used - 1]))
    --used;
  if (words)
    words[used] = '\0';
  return words ? words : "";
}

/* CPUs: "error: saxpy.c:2:0: stack frame size (300000) exceeds limit (262144) in function 'k'", of
 * the kernel and of the loop around it. */
static bool place_frame(cc_job *job, kdl_string message) {
  static const char mark[] = "stack frame size (";
  const char *found = memmem(message.data, message.length, mark, sizeof mark - 1);
  uint32_t size = 0;
  size_t at = 0;
  if (job->target->family != CC_HOST || !found)
    return false;
  kdl_string rest = kdl_text_from(message, (size_t)(found - message.data) + sizeof mark - 1);
  kdl_text_number(rest, &at, &size);
  kdl_string name = kdl_text_from(rest, kdl_text_find(rest, 0, "'"));
  name.length = kdl_text_find(name, 0, "\n");
  const cc_kernel *kernel = kernel_in(job, name);
  cc_refuse_at(job, kernel ? kernel->place : (cc_place){.line = 0},
               "%s%s%u bytes of the stack on the CPU; expected at most 262144, of group memory, "
               "variables, and what work-items keep across barriers",
               kernel ? kernel->name : "a function", " takes ", size);
  return true;
}

/* "<inline asm>:1:16: error: invalid register name" */
static bool place_assembly(cc_job *job, kdl_string message) {
  static const char mark[] = "<inline asm>:";
  const char *found = memmem(message.data, message.length, mark, sizeof mark - 1);
  if (job->target->family != CC_HOST || !found)
    return false;
  static const char severity[] = ": error: ";
  kdl_string rest = kdl_text_from(message, (size_t)(found - message.data));
  found = memmem(rest.data, rest.length, severity, sizeof severity - 1);
  if (!found)
    return false;
  rest = kdl_text_from(rest, (size_t)(found - rest.data) + sizeof severity - 1);
  cc_refuse_at(job, job->assembly, "%.*s, in assembly", (int)kdl_text_find(rest, 0, "\n"),
               rest.data);
  return true;
}

void cc_backend_error_place(cc_job *job) {
  kdl_string message =
      job->message_count ? job->messages[job->message_count - 1] : (kdl_string){"", 0};
  kdl_string text = error_in(message);
  const char *place = kdl_arena_format(&job->arena, "%s:", job->source->path);
  if (!job->is_told || !place)
    return;
  if (place_frame(job, message) || place_assembly(job, message)) {
    --job->message_count;
    return;
  }
  if (text.length == 0 || kdl_text_contains(message, place))
    return;
  const cc_kernel *kernel = kernel_in(job, message);
  --job->message_count;
  cc_refuse_at(job, kernel ? kernel->place : (cc_place){.line = 0}, "%s", plain_words(job, text));
}
