/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/job_steps.h"

#include <ctype.h>

/* The text of such an error, up to the end of its line; empty if there is none. */
static kdl_string find_backend_error(kdl_string message) {
  static const char *const marks[] = {"error in backend: ", "LLVM ERROR: ",     "; error   : ",
                                      "ptxas error   : ",   "ptxas fatal   : ", "<unknown>:0:0: "};
  kdl_string rest;
  for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
    if (cli_text_after(message, marks[i], &rest))
      return cli_text_until(rest, "\n");
  }
  /* spirv-val's: "error: line 12: OpTypeFunction may not take more than 255 arguments." */
  if (kdl_text_starts(message, "error: line ") &&
      cli_text_after(kdl_text_substr(message, strlen("error: line ")), ": ", &rest))
    return cli_text_until(rest, "\n");
  return (kdl_string){"", 0};
}

static bool contains_word(kdl_string text, const char *word) {
  size_t at = 0;
  while (at < text.length && !cli_word_is_at(text, at, word))
    ++at;
  return at < text.length;
}

static const cc_kernel *find_named_kernel(const cc_job *job, kdl_string text) {
  for (size_t i = 0; i < job->kernels.count; ++i) {
    if (contains_word(text, job->kernels.items[i].name))
      return &job->kernels.items[i];
  }
  return job->kernels.count == 1 ? &job->kernels.items[0] : NULL;
}

/* Removes addresses of the compiler's memory, which change from run to run: "0x55d0c0: i64 = ". */
static const char *without_addresses(cc_job *job, kdl_string text) {
  enum { shortest_address = 2 + 9 };
  char *words = xarena_alloc(&job->arena, text.length + 1);
  size_t used = 0;
  for (size_t at = 0; at < text.length;) {
    kdl_string rest = kdl_text_substr(text, at);
    size_t digits = kdl_text_starts(rest, "0x") ? 2 : 0;
    while (digits && digits < rest.length && isxdigit((unsigned char)rest.data[digits]))
      ++digits;
    if (digits < shortest_address) {
      words[used++] = text.data[at++];
      continue;
    }
    digits += digits < rest.length && rest.data[digits] == ':';
    at += digits + (digits < rest.length && rest.data[digits] == ' ');
  }
  while (used && strchr(" ,", words[used - 1]))
    --used;
  words[used] = '\0';
  return words;
}

/* CPUs: "error: saxpy.c:2:0: stack frame size (300000) exceeds limit (262144) in function 'k'", for
 * the kernel and for the loop around it. */
static bool locate_frame_error(cc_job *job, kdl_string message) {
  kdl_string rest;
  uint32_t size = 0;
  size_t at = 0;
  if (job->target->family != CC_HOST || !cli_text_after(message, "stack frame size (", &rest))
    return false;
  kdl_text_parse_number(rest, &at, &size);
  kdl_string name = kdl_text_substr(rest, kdl_text_find(rest, 0, "'"));
  const cc_kernel *kernel = find_named_kernel(job, cli_text_until(name, "\n"));
  cc_error_at(job, kernel ? kernel->location : (cc_location){.line = 0},
              "%s takes %u bytes of the stack on the CPU; expected at most 262144, of group "
              "memory, variables, and what work-items keep across barriers",
              kernel ? kernel->name : "a function", size);
  return true;
}

/* "<inline asm>:1:16: error: invalid register name" */
static bool locate_assembly_error(cc_job *job, kdl_string message) {
  kdl_string rest;
  if (job->target->family != CC_HOST || !cli_text_after(message, "<inline asm>:", &rest) ||
      !cli_text_after(rest, ": error: ", &rest))
    return false;
  cc_error_at(job, job->assembly, "%.*s, in assembly", CLI_STRING_ARGS(cli_text_until(rest, "\n")));
  return true;
}

void cc_locate_backend_error(cc_job *job) {
  kdl_string message = cc_last_message(job), text = find_backend_error(message);
  if (!job->is_explained)
    return;
  if (locate_frame_error(job, message) || locate_assembly_error(job, message)) {
    cc_remove_last_message(job);
    return;
  }
  const char *location = xarena_format(&job->arena, "%s:", job->source->path);
  if (text.length == 0 || kdl_text_contains(message, location))
    return;
  const cc_kernel *kernel = find_named_kernel(job, message);
  cc_remove_last_message(job);
  cc_error_at(job, kernel ? kernel->location : (cc_location){.line = 0}, "%s",
              without_addresses(job, text));
}
