/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cc/job/job_steps.h"
#include "support/base/error.h"
#include "support/system/loader.h"

/* FILE:LINE:COLUMN: at the beginning of kdl-ld's message. */
static cc_location parse_location(kdl_string *message) {
  cc_location location = {.line = 0};
  size_t file = kdl_text_find(*message, 0, ":"), at = file + 1;
  bool has_line = kdl_text_parse_number(*message, &at, &location.line) && at < message->length;
  ++at; /* skip ':' */
  if (!has_line || !kdl_text_parse_number(*message, &at, &location.column) ||
      at + 2 > message->length)
    return (cc_location){.line = 0};
  location.file = (kdl_string){message->data, file};
  *message = kdl_text_substr(*message, at + 2);
  return location;
}

/* Turns kdl-ld's message about the source into one of this program. */
kdl_status cc_restate_linker_error(cc_job *job, kdl_status status) {
  kdl_string message;
  if (status != KDL_BAD_FILE || !job->is_explained ||
      !cli_text_after(cc_last_message(job), "error: ", &message))
    return status;
  cc_remove_last_message(job);
  message = cli_text_until(message, "\n");
  cc_location location = parse_location(&message);
  return cc_error_at(job, location, "%.*s", CLI_STRING_ARGS(message));
}

static cc_location barrier_location(const cc_kernels *kernels) {
  size_t i = 0;
  while (i + 1 < kernels->count && !cc_kernel_has_barrier(&kernels->items[i]))
    ++i;
  return kernels->items[i].location;
}

kdl_status cc_lower_groups(cc_job *job, const char *items, const char *out_path) {
  char program[PATH_MAX];
  if (!kdl_linker_path(program))
    return cc_error_at(
        job, barrier_location(&job->kernels),
        "work-items wait for one another here (__gpu_sync_threads), for which "
        "images for CPUs need kdl-ld: found none in the folder of this program, in KDL_LD or "
        "where it is installed; " KDL_LINKER_HOW);
  kdl_string_list words = {.arena = &job->arena};
  cc_add_words(&words, CC_WORDS(program, "--groups"));
  kdl_string_list_append_format(&words, "--caller=%s", items);
  kdl_string_list_append_format(&words, "--output=%s", out_path);
  if (job->plan->bitcode)
    kdl_string_list_append(&words, "--strip");
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    const uint32_t *block = kernel->values[CC_BLOCK];
    if (kernel->has_barrier) /* a block that the source does not set is 0 */
      kdl_string_list_append_format(&words, "--kernel=%s=%u,%u,%u", kernel->name, block[0],
                                    block[1], block[2]);
  }
  return cc_restate_linker_error(job, cc_run_step(job, &words, NULL));
}
