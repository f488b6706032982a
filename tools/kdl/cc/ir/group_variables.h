/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Variables of a group, in kernels for the CPU: which work-item runs (kdl_item of
 * <kdl/kernel/host.h>) and KDL_LOCAL. Sources see them as variables of the file; they must be the
 * group's own, since several threads run groups at once.
 *
 * In C they are thread-local variables of a section of their own. Here, in Clang's IR before it is
 * optimised, each becomes a local variable of the function that runs a group, and a parameter of
 * every function below that needs it. Nothing thread-local is left, and in a kernel that is inlined
 * into the loop over its work-items the index is the loop's counter.
 */
#ifndef KDL_TOOL_CC_GROUP_VARIABLES_H
#define KDL_TOOL_CC_GROUP_VARIABLES_H

#include "cc/source/kernels.h"

#include <stdio.h>

/* Writes `ir` to `out` so changed. KDL_BAD_FILE where that cannot be, as for thread-local variables
 * of the source's own: the message names them, and *out_cause is their name in the IR. */
kdl_status cc_group_variables_write(kdl_arena *arena, kdl_string ir, const cc_kernels *kernels,
                                    FILE *out, kdl_string *out_cause);

#endif
