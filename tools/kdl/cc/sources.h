/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The source files of one call, and which of them is compiled for which target. */
#ifndef KDL_TOOL_CC_SOURCES_H
#define KDL_TOOL_CC_SOURCES_H

#include "cc/job/job.h"
#include "cli/options.h"

/* The operand, then what --variant adds. In the arena. */
kdl_status cc_sources_read(kdl_arena *arena, const cli_args *args, cc_source **out_sources,
                           size_t *out_count);

/* The targets of --targets, each once. In the arena. */
kdl_status cc_targets_read(kdl_arena *arena, const cli_args *args, cc_target **out_targets,
                           size_t *out_count);

/* A job for each target and each source that is for it: target by target, and for one target those
 * of higher priority first, so that readers which take the first image that fits take the best. */
kdl_status cc_jobs_make(kdl_arena *arena, const cc_plan *plan, const cc_source *sources,
                        size_t source_count, const cc_target *targets, size_t target_count,
                        cc_job **out_jobs, size_t *out_count);

#endif
