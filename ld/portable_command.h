/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kdl-ld --portable: makes and checks portable bitcode. */
#ifndef KDL_LD_PORTABLE_COMMAND_H
#define KDL_LD_PORTABLE_COMMAND_H

#include "tools/common/command.h"

extern const cli_command ld_portable_command;

#endif
