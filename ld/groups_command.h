/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `kdl-ld --groups`: work-group lowering (compiler/ir/groups/groups.h) of IR that `kdl cc` made, in
 * the confined process. */
#ifndef KDL_LD_GROUPS_COMMAND_H
#define KDL_LD_GROUPS_COMMAND_H

#include "tools/common/command.h"

extern const cli_command ld_groups_command;

#endif
