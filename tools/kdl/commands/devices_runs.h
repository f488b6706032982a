/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl devices --runs: which of all known architectures run on a device. */
#ifndef KDL_TOOLS_KDL_COMMANDS_DEVICES_RUNS_H
#define KDL_TOOLS_KDL_COMMANDS_DEVICES_RUNS_H

#include "tools/common/options.h"

#include <kdl/kdl.h>

kdl_status cli_devices_runs(const cli_args *args);

#endif
