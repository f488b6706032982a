/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What compilers would not refuse, or in words that name no line of the source. */
#ifndef KDL_TOOL_CC_CHECKS_H
#define KDL_TOOL_CC_CHECKS_H

#include "cc/job/job.h"

/* Kernels as they are declared. */
kdl_status cc_check_declarations(cc_job *job);

/* What they are, once their signatures are known. */
kdl_status cc_check_kernels(cc_job *job);

/* LLVM IR with line tables, before it is optimised: what it calls and the target has not. */
kdl_status cc_check_code(cc_job *job, kdl_string ir);

/* The kernels of the image against those of the source. */
kdl_status cc_check_image(cc_job *job);

#endif
