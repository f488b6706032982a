/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One thread for work that no launch waits for. It exists while there are tasks, has all signals
 * blocked, and a lower priority than the program, which kdl-ld inherits.
 *
 * The child of a fork has no such thread: its tasks are forgotten. A process that ends cancels the
 * task that runs and waits for it, since a driver must not be called while it ends.
 */
#ifndef KDL_EXT_SPECIALIZE_BACKGROUND_H
#define KDL_EXT_SPECIALIZE_BACKGROUND_H

#include "lib/hooks.h"

/* As kdl_specialize_hooks.start and .stop. */
bool kdl_background_start(kdl_background_task *task);
void kdl_background_stop(kdl_background_task *task);

#endif
