/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommand cc. */
#ifndef KDL_CC_COMMAND_H
#define KDL_CC_COMMAND_H

#include "tools/common/command.h"

int cli_run_cc(const cli_args *args);

extern const cli_command cli_command_cc;

/* The command line of `kdl cc` as compilers' drivers have it: response files, and the options of
 * Clang that have no name here, which become --flag=WORD. Words lie in the arena. */
kdl_status cli_rewrite_cc(kdl_arena *arena, int count, char **words, kdl_string_list *out_words);

#endif
