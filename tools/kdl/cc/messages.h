/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the jobs have to say: every distinct message once, with the targets it is about. */
#ifndef KDL_TOOL_CC_MESSAGES_H
#define KDL_TOOL_CC_MESSAGES_H

#include "cc/job/job.h"

/* Prints the compilers' messages and kdl's own on standard error. */
kdl_status cc_messages_print(const cc_job *jobs, size_t count);

#endif
