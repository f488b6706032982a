/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Times work on a queue, by the device's clock. */
#ifndef KDL_TOOLS_COMMON_RUN_TIMES_H
#define KDL_TOOLS_COMMON_RUN_TIMES_H

#include <kdl/kdl.h>

#include <stddef.h>

/* Submits the work `repeat` times, each between two events, and prints median, fastest and slowest;
 * `what` is "launch" or "run". */
kdl_status cli_run_timed(kdl_device *device, kdl_queue *queue, size_t repeat, const char *what,
                         kdl_status (*submit)(void *user), void *user);

#endif
