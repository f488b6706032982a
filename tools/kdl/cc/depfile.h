/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the images of a call were made from, as make and Ninja read it. */
#ifndef KDL_TOOL_CC_DEPFILE_H
#define KDL_TOOL_CC_DEPFILE_H

#include "cc/job/job.h"

/* One rule for all jobs, with each file once. `path` is NULL for OUT with the suffix .d. */
typedef struct cc_depfile {
  const char *path;
  const char *target; /* as it is to be written */
  bool is_quoted;     /* what make would read otherwise is to be escaped */
  bool has_phony;     /* each header is a target too, so that make goes on where one is gone */
} cc_depfile;

kdl_status cc_depfile_write(kdl_arena *arena, const cc_job *jobs, size_t count,
                            const cc_depfile *file, const char *output);

#endif
