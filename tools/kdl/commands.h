/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands that are part of `kdl` itself. */
#ifndef KDL_TOOL_COMMANDS_H
#define KDL_TOOL_COMMANDS_H

#include "cli/command.h"

extern const cli_command cli_command_annotate;
extern const cli_command cli_command_cache;
extern const cli_command cli_command_cc;
extern const cli_command cli_command_devices;
extern const cli_command cli_command_doctor;
extern const cli_command cli_command_embed;
extern const cli_command cli_command_explain;
extern const cli_command cli_command_extract;
extern const cli_command cli_command_link;
extern const cli_command cli_command_ls;
extern const cli_command cli_command_merge;
extern const cli_command cli_command_pack;
extern const cli_command cli_command_run;
extern const cli_command cli_command_thin;
extern const cli_command cli_command_trace;
extern const cli_command cli_command_verify;
extern const cli_command cli_command_which;

/* Not in the table: what the program is when it is called by LLVM's name. */
extern const cli_command cli_command_llvm_offload_binary;

#endif
