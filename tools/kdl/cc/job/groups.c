/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/error.h"
#include "cc/job/job_steps.h"
#include "system/loader.h"

#include <stdio.h>
#include <string.h>

/* FILE:LINE:COLUMN: at the beginning of what kdl-ld says. */
static cc_place read_place(kdl_string *said) {
  cc_place place = {.line = 0};
  size_t file = kdl_text_find(*said, 0, ":"), at = file + 1;
  bool has_line = kdl_text_number(*said, &at, &place.line) && at < said->length;
  ++at; /* behind the ':' */
  if (!has_line || !kdl_text_number(*said, &at, &place.column) || at + 2 > said->length)
    return (cc_place){.line = 0};
  place.file = (kdl_string){said->data, file};
  *said = kdl_text_from(*said, at + 2);
  return place;
}

/* What kdl-ld says of the source is said as this program's own. */
static kdl_status tell(cc_job *job, kdl_status status) {
  static const char mark[] = "error: ";
  if (status != KDL_BAD_FILE || !job->is_told)
    return status;
  kdl_string said = job->messages[job->message_count - 1];
  const char *found = memmem(said.data, said.length, mark, sizeof mark - 1);
  if (!found)
    return status;
  said = kdl_text_from(said, (size_t)(found - said.data) + sizeof mark - 1);
  said.length = kdl_text_find(said, 0, "\n");
  --job->message_count;
  job->is_told = false;
  cc_place place = read_place(&said);
  return cc_refuse_at(job, place, "%.*s", (int)said.length, said.data);
}

static cc_place waiting_place(const cc_kernels *kernels) {
  size_t i = 0;
  while (i + 1 < kernels->count && !cc_kernel_waits(&kernels->items[i]))
    ++i;
  return kernels->items[i].place;
}

kdl_status cc_make_groups(cc_job *job, const char *items, const char *out_path) {
  char program[PATH_MAX];
  if (!items || !out_path)
    return cc_no_memory(job);
  if (!kdl_linker_path(program))
    return cc_refuse_at(job, waiting_place(&job->kernels),
                        "work-items wait for one another here (__gpu_sync_threads), for which "
                        "images for CPUs need kdl-ld: found none beside this program, in KDL_LD or "
                        "where it is installed; " KDL_LINKER_HOW);
  kdl_words words = {.arena = &job->arena};
  kdl_words_add(&words, program);
  kdl_words_add(&words, "--groups");
  kdl_words_format(&words, "--caller=%s", items);
  kdl_words_format(&words, "--output=%s", out_path);
  if (job->plan->bitcode)
    kdl_words_add(&words, "--strip");
  for (size_t i = 0; i < job->kernels.count; ++i) {
    const cc_kernel *kernel = &job->kernels.items[i];
    const uint32_t *block = kernel->values[KDL_KERNEL_BLOCK];
    bool has_block = kernel->said >> KDL_KERNEL_BLOCK & 1;
    if (kernel->waits)
      kdl_words_format(&words, "--kernel=%s=%u,%u,%u", kernel->name, has_block ? block[0] : 0,
                       has_block ? block[1] : 0, has_block ? block[2] : 0);
  }
  return tell(job, cc_step(job, &words, NULL));
}
