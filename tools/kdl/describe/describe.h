/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Generates documents from the table of commands.h; each function prints a part. */
#ifndef KDL_TOOL_DESCRIBE_H
#define KDL_TOOL_DESCRIBE_H

#include "tools/kdl/commands.h"

/* The man page, in mdoc. */
void describe_man_synopsis(void);
void describe_man_commands(void);
void describe_man_exit_codes(void);

/* Completions: names and options of commands, and the values of options. */
void describe_bash_options(void);
void describe_bash_actions(void);
void describe_bash_values(void);
void describe_zsh_commands(void);
void describe_zsh_options(void);

#endif
