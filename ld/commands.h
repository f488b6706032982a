/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command lines of kdl-ld. */
#ifndef KDL_LD_COMMANDS_H
#define KDL_LD_COMMANDS_H

#include "compiler/ir/linker/request.h"
#include "tools/common/command.h"
#include "tools/common/options.h"

/* --groups: work-group lowering (compiler/ir/groups/groups.h) of IR that `kdl cc` made, in the
 * confined process. */
extern const cli_command ld_groups_command;

/* --portable: makes and checks portable bitcode. */
extern const cli_command ld_portable_command;

/* A link (docs/linking.md), checked. The request points into `args` and into the arena, which must
 * outlive the link. The caller frees `device`, also after a failure. */
kdl_status ld_request_read(const cli_args *args, kdl_arena *arena, ir_request *out_request);

#endif
