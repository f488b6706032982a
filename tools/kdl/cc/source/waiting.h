/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which kernels wait for their group, in IR for a CPU: in C++ what waits may be a member, a lambda
 * or an instance of a template. */
#ifndef KDL_TOOL_CC_WAITING_H
#define KDL_TOOL_CC_WAITING_H

#include "cc/source/kernels.h"

/* Sets `waits` of kernels that call kdl_cc_barrier (<kdl/kernel/host.h>), or a function that does,
 * and `has_atomics`. */
kdl_status cc_waiting_read(kdl_arena *arena, kdl_string ir, cc_kernels *kernels);

#endif
