/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The subcommands that are part of `kdl` itself: rows of one table, and for each a function in its
 * own file. */
#ifndef KDL_TOOL_COMMANDS_H
#define KDL_TOOL_COMMANDS_H

#include "cli/command.h"

extern const cli_command cli_commands[];
extern const size_t cli_command_count;

/* NULL where there is none of that name. */
const cli_command *cli_command_find(const char *name);

int cli_run_annotate(const cli_args *args);
int cli_run_sign(const cli_args *args);
int cli_run_cache(const cli_args *args);
int cli_run_cc(const cli_args *args);
int cli_run_check(const cli_args *args);
int cli_run_devices(const cli_args *args);
int cli_run_doctor(const cli_args *args);
int cli_run_embed(const cli_args *args);
int cli_run_explain(const cli_args *args);
int cli_run_extract(const cli_args *args);
int cli_run_link(const cli_args *args);
int cli_run_ls(const cli_args *args);
int cli_run_merge(const cli_args *args);
int cli_run_pack(const cli_args *args);
int cli_run_pull(const cli_args *args);
int cli_run_push(const cli_args *args);
int cli_run_run(const cli_args *args);
int cli_run_split(const cli_args *args);
int cli_run_thin(const cli_args *args);
int cli_run_trace(const cli_args *args);
int cli_run_verify(const cli_args *args);
int cli_run_which(const cli_args *args);

/* The command line of `kdl cc` as compilers' drivers have it: response files, and the options of
 * Clang that have no name here, which become --flag=WORD. Words lie in the arena. */
kdl_status cli_rewrite_cc(kdl_arena *arena, int count, char **words, kdl_words *out_words);

/* Not in the table: what the program is when it is called by LLVM's name. */
extern const cli_command cli_command_llvm_offload_binary;

#endif
