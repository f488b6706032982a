/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Subcommands for the distribution of files. */
#ifndef KDL_PACK_COMMANDS_H
#define KDL_PACK_COMMANDS_H

#include "tools/common/command.h"

int cli_run_merge(const cli_args *args);
int cli_run_thin(const cli_args *args);
int cli_run_split(const cli_args *args);
int cli_run_push(const cli_args *args);
int cli_run_pull(const cli_args *args);
int cli_run_check(const cli_args *args);
int cli_run_diff(const cli_args *args);

extern const cli_command cli_command_merge, cli_command_thin, cli_command_split, cli_command_push,
    cli_command_pull, cli_command_check, cli_command_diff;

#endif
