/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What `kdl` and the programs that it starts have in common: signals, running a command, the end.
 */
#ifndef KDL_TOOL_PROGRAM_H
#define KDL_TOOL_PROGRAM_H

#include "cli/command.h"

/* To be called first in main. */
void cli_program_begin(void);

/* Reads the words after the command's name and runs it; returns the exit code. */
int cli_program_run(const cli_command *command, int count, char **words);

/* The exit code of the program, given that of the command: standard output may still fail. */
int cli_program_end(int code);

#endif
