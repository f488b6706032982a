/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All jobs: several at once, and their images in one file. */
#ifndef KDL_TOOL_CC_BUILD_H
#define KDL_TOOL_CC_BUILD_H

#include "cc/job/job.h"

/* Runs the jobs in as many threads as that, with a line of progress on a terminal. Each job's
 * `status` says how it went. KDL_IO where a signal asked to stop. */
kdl_status cc_build_run(cc_job *jobs, size_t count, unsigned threads);

/* The signal that asked to stop; 0 where none did. */
int cc_build_stopped(void);

/* Puts the images of the jobs that went well into an OffloadBinary. */
kdl_status cc_build_save(const cc_job *jobs, size_t count, int format, const char *output);

#endif
