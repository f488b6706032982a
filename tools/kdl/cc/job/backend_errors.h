/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Errors of code generators and assemblers, which know no lines: they get the kernel's. */
#ifndef KDL_TOOL_CC_BACKEND_ERRORS_H
#define KDL_TOOL_CC_BACKEND_ERRORS_H

#include "cc/job/job.h"

/* Where the last message of a job that failed is such an error, it becomes the job's own words,
 * with the place of the kernel that it names, or of the only one. */
void cc_backend_error_place(cc_job *job);

#endif
