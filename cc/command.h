/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommand cc. */
#ifndef KDL_CC_COMMAND_H
#define KDL_CC_COMMAND_H

#include "tools/common/command.h"

int cli_run_cc(const cli_args *args);

extern const cli_command cli_command_cc;

/* Rewrites the command line of `kdl cc` as a compiler driver does: expands response files, and
 * turns options of Clang that `kdl cc` does not define into --flag=WORD. Words are in the arena. */
kdl_status cli_rewrite_cc(kdl_arena *arena, int count, char **words, kdl_string_list *out_words);

#endif
