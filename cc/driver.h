/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of `kdl cc`, in the order in which it uses them: from the command line to jobs, from
 * jobs to images and messages, from images to one file. */
#ifndef KDL_TOOL_CC_DRIVER_H
#define KDL_TOOL_CC_DRIVER_H

#include "cc/job/job.h"
#include "tools/common/options.h"

/* ------------------------------------------------------------------------------------------ */
/* The command line (sources.c); what is returned lies in the arena                             */

/* The operand, then what --variant adds. */
kdl_status cc_sources_parse(kdl_arena *arena, const cli_args *args, cc_source **out_sources,
                            size_t *out_count);

/* The targets of --targets, each once. */
kdl_status cc_targets_parse(kdl_arena *arena, const cli_args *args, cc_target **out_targets,
                            size_t *out_count);

/* A job for each target and each source that is for it: target by target, and for one target those
 * of higher priority first, so that readers which take the first image that fits take the best. */
kdl_status cc_jobs_create(kdl_arena *arena, const cc_plan *plan, const cc_source *sources,
                          size_t source_count, const cc_target *targets, size_t target_count,
                          cc_job **out_jobs, size_t *out_count);

/* ------------------------------------------------------------------------------------------ */
/* Jobs, several at once (build.c, messages.c)                                                  */

/* Runs the jobs in as many threads as that, with a line of progress on a terminal. Each job's
 * `status` says how it went. KDL_IO where a signal asked to stop. */
kdl_status cc_build_run(cc_job *jobs, size_t count, unsigned threads);

/* The signal that asked to stop; 0 where none did. */
int cc_build_stop_signal(void);

/* Prints the compilers' messages and kdl's own on standard error: every distinct message once, with
 * the targets it is about. */
void cc_messages_print(const cc_job *jobs, size_t count);

/* ------------------------------------------------------------------------------------------ */
/* Files (build.c, depfile.c)                                                                   */

/* Puts the images of the jobs that went well into an OffloadBinary. */
kdl_status cc_build_save(const cc_job *jobs, size_t count, int format, const char *output);

/* What the images were made from, as make and Ninja read it: one rule for all jobs, with each file
 * once. `path` is NULL for OUT with the suffix .d. */
typedef struct cc_depfile {
  const char *path;
  const char *target; /* as it is to be written */
  bool is_quoted;     /* what make would read otherwise is to be escaped */
  bool has_phony;     /* each header is a target too, so that make goes on where one is gone */
} cc_depfile;

kdl_status cc_depfile_write(kdl_arena *arena, const cc_job *jobs, size_t count,
                            const cc_depfile *file, const char *output);

#endif
