/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How long what is given to a queue takes, by the device's own clock. */
#ifndef KDL_TOOL_RUN_TIMES_H
#define KDL_TOOL_RUN_TIMES_H

#include <kdl/kdl.h>

#include <stddef.h>

/* Gives it `repeat` times, each between two events, and prints median, fastest and slowest; `what`
 * is "launch", "run". */
kdl_status cli_run_timed(kdl_device *device, kdl_queue *queue, size_t repeat, const char *what,
                         kdl_status (*submit)(void *user), void *user);

#endif
