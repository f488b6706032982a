/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl run --sequence: replays a recorded sequence, its slots bound from the command line. */
#ifndef KDL_TOOL_RUN_SEQUENCE_H
#define KDL_TOOL_RUN_SEQUENCE_H

#include "cli/options.h"
#include "cli/run_args.h"

#include <kdl/kdl.h>

#include <stddef.h>

/* Options are those of `kdl run`; `repeat` is how often, `tolerance` that of --check, NULL for the
 * types' own. */
kdl_status cli_run_sequence(const cli_args *args, size_t repeat, const cli_tolerance *tolerance);

#endif
