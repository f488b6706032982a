/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of `kdl cc`, in the order of their use: command line to jobs, jobs to images and
 * messages, images to one file. */
#ifndef KDL_CC_DRIVER_H
#define KDL_CC_DRIVER_H

#include "cc/job/job.h"
#include "tools/common/options.h"

/* ------------------------------------------------------------------------------------------ */
/* The command line (sources.c); results are in the arena                                       */

/* The operand, then the files of --variant. */
kdl_status cc_sources_parse(kdl_arena *arena, const cli_args *args, cc_source **out_sources,
                            size_t *out_count);

/* The targets of --targets, each once. */
kdl_status cc_targets_parse(kdl_arena *arena, const cli_args *args, cc_target **out_targets,
                            size_t *out_count);

/* One job for each target and each source that applies to it. Jobs are ordered by target, then by
 * descending priority, so that readers which use the first matching image get the best one. */
kdl_status cc_jobs_create(kdl_arena *arena, const cc_plan *plan, const cc_source *sources,
                          size_t source_count, const cc_target *targets, size_t target_count,
                          cc_job **out_jobs, size_t *out_count);

/* ------------------------------------------------------------------------------------------ */
/* Running jobs in parallel (build.c, messages.c)                                               */

/* Runs the jobs in `threads` threads, with a progress line on a terminal. Each job's `status` is
 * its result. KDL_IO if a signal asked to stop. */
kdl_status cc_build_run(cc_job *jobs, size_t count, unsigned threads);

/* The signal that asked to stop; 0 if none. */
int cc_build_stop_signal(void);

/* Prints the compilers' messages and kdl's own on standard error: every distinct message once, with
 * its targets. */
void cc_messages_print(const cc_job *jobs, size_t count);

/* ------------------------------------------------------------------------------------------ */
/* Files (build.c, depfile.c)                                                                   */

/* Writes the images of the successful jobs into an OffloadBinary. */
kdl_status cc_build_save(const cc_job *jobs, size_t count, int format, const char *output);

/* The dependencies of the images, for make and Ninja: one rule for all jobs, with each file once.
 */
typedef struct cc_depfile {
  const char *path;
  const char *target; /* the rule's target, verbatim unless is_quoted */
  bool is_quoted;     /* escape make's special characters in it */
  bool has_phony;     /* each header is also a phony target, so that make accepts a missing one */
} cc_depfile;

kdl_status cc_depfile_write(kdl_arena *arena, const cc_job *jobs, size_t count,
                            const cc_depfile *file);

/* OUT with the suffix .d. */
const char *cc_depfile_default(kdl_arena *arena, const char *output);

#endif
